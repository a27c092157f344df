"""The command `null`."""

from __future__ import annotations

from typing import Annotated

import typer

from headatlas.cli.base import AtlasPath, Of, Seed, app, open_atlas
from headatlas.options import either
from headatlas.wording.nulls import NULLS

Kind = Annotated[
    list[str] | None, typer.Option(help=f"{either(tuple(NULLS))}; can be given more than once.", show_default="all")
]


@app.command(
    epilog="""[bold]Examples[/bold]

    headatlas null sample.atlas

    headatlas null sample.atlas --kind shuffled --examples 200"""
)
def null(
    path: AtlasPath,
    of: Of = None,
    kind: Kind = None,
    examples: Annotated[int, typer.Option(help="Examples, drawn with the seed; all if there are no more.")] = 64,
    seed: Seed = 0,
    model: Annotated[str | None, typer.Option(help="Folder of the model, where it is not found by its name.")] = None,
    encoder: Annotated[
        str | None, typer.Option(help="Encoder of the features, if it is a trained file or a vision model.")
    ] = None,
) -> None:
    """Count the patterns with random or shuffled weights, and with shuffled words. Run it again to continue."""
    atlas = open_atlas(path)
    atlas.needed("cluster", of)
    from headatlas import null as stage  # which imports torch

    stage.references(
        atlas, of=of, kinds=kind or tuple(NULLS), examples=examples, seed=seed, model=model, encoder=encoder
    )
    typer.echo(stage.summary(atlas, of=of))
