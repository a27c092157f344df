"""The command `collect`."""

from __future__ import annotations

from typing import Annotated

import typer

from headatlas.cli.base import Data, Limit, Model, Output, PairColumn, Scheduler, Seed, TextColumn, Workers, app
from headatlas.errors import OptionError


@app.command(
    epilog="""[bold]Examples[/bold]

    headatlas collect packaged sample -o sample.atlas

    headatlas collect bert-base-uncased squad:dev-v2.0.json -o bert.atlas --limit 2000

    headatlas collect ./my-model reviews.csv --text-column review -o reviews.atlas --workers 4"""
)
def collect(
    model: Model,
    data: Data,
    output: Output,
    text_column: TextColumn = None,
    pair_column: PairColumn = None,
    limit: Limit = None,
    resolution: Annotated[int, typer.Option(help="Side of the pooled maps.")] = 32,
    max_tokens: Annotated[
        int | None, typer.Option(help="Longest text in tokens, if shorter than the model allows.")
    ] = None,
    overlong: Annotated[str, typer.Option(help="What to do with longer texts: truncate or window.")] = "truncate",
    qk_tokens: Annotated[int, typer.Option(help="Number of tokens whose queries and keys are stored.")] = 20_000,
    seed: Seed = 0,
    workers: Workers = 0,
    scheduler: Scheduler = None,
) -> None:
    """Collect the attention of every head on every example. Run the same command again to continue after a stop."""
    from headatlas import data as reader
    from headatlas.stages import collect as stage

    if overlong not in ("truncate", "window"):
        raise OptionError(f"--overlong {overlong}: choose truncate or window")
    dataset = reader.load(data, text_column=text_column, pair_column=pair_column, limit=limit)
    atlas = stage.maps(
        model,
        dataset,
        output,
        resolution=resolution,
        max_tokens=max_tokens,
        overlong="window" if overlong == "window" else "truncate",
        qk_tokens=qk_tokens,
        seed=seed,
        workers=workers,
        scheduler=scheduler,
    )
    typer.echo(str(atlas))
