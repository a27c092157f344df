"""The command `collect`."""

from __future__ import annotations

from typing import Annotated

import typer

from headatlas.cli.base import (
    Data,
    Limit,
    MaxTokens,
    Model,
    Norms,
    Output,
    Overlong,
    PairColumn,
    QkTokens,
    Scheduler,
    Seed,
    TextColumn,
    Workers,
    app,
)


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
    max_tokens: MaxTokens = None,
    overlong: Overlong = "truncate",
    qk_tokens: QkTokens = 20_000,
    seed: Seed = 0,
    norms: Norms = False,
    workers: Workers = 0,
    scheduler: Scheduler = None,
) -> None:
    """Collect the attention of every head on every example. Run the same command again to continue after a stop."""
    from headatlas import data as reader
    from headatlas.stages import collect as stage
    from headatlas.stages.collect.options import parse_overlong

    dataset = reader.load(data, text_column=text_column, pair_column=pair_column, limit=limit)
    atlas = stage.maps(
        model,
        dataset,
        output,
        resolution=resolution,
        max_tokens=max_tokens,
        overlong=parse_overlong(overlong),
        qk_tokens=qk_tokens,
        seed=seed,
        norms=norms,
        workers=workers,
        scheduler=scheduler,
    )
    typer.echo(str(atlas))
