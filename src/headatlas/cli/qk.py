"""The command `qk`."""

from __future__ import annotations

from typing import Annotated

import typer

from headatlas.cli.base import AtlasPath, Scheduler, Seed, Workers, app, open_atlas
from headatlas.options import either
from headatlas.stages import qk as stage
from headatlas.stages.qk.methods import DEFAULT


@app.command(
    epilog="""[bold]Examples[/bold]

    headatlas qk sample.atlas

    headatlas qk sample.atlas --method umap --dims 3 --tokens 2000 --workers 4"""
)
def qk(
    path: AtlasPath,
    method: Annotated[str, typer.Option(help=either(tuple(stage.METHODS)) + ".")] = DEFAULT,
    dims: Annotated[int, typer.Option(help="Dimensions of the plots: 2 or 3.")] = 2,
    tokens: Annotated[int, typer.Option(help="Tokens to draw, at most: whole examples.")] = stage.TOKENS,
    seed: Seed = 0,
    workers: Workers = 0,
    scheduler: Scheduler = None,
) -> None:
    """Draw the queries and keys of every head in one space. Run the same command again to continue after a stop."""
    stage.check(method, dims, tokens, seed, workers)
    atlas = open_atlas(path)
    stage.embed(atlas, method, dims=dims, tokens=tokens, seed=seed, workers=workers, scheduler=scheduler)
    typer.echo(str(atlas))
