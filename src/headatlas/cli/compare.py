"""The command `compare`."""

from __future__ import annotations

from typing import Annotated

import typer

from headatlas.cli.base import AtlasPath, Name, Of, Seed, app, open_atlas


@app.command(
    epilog="""[bold]Examples[/bold]

    headatlas compare base.atlas tuned.atlas

    headatlas compare base.atlas tuned.atlas --noise tuned-seed1.atlas --noise tuned-seed2.atlas

    headatlas compare step0.atlas step100.atlas step1000.atlas --steps 0,100,1000"""
)
def compare(
    path: AtlasPath,
    others: Annotated[
        list[str], typer.Argument(metavar="OTHER…", help="The other model, or checkpoints in their order.")
    ],
    noise: Annotated[
        list[str] | None, typer.Option(help="Another seed of the last model; can be given more than once.")
    ] = None,
    name: Name = None,
    steps: Annotated[
        str | None, typer.Option(help="Labels of all atlases, separated by commas.", show_default="their names")
    ] = None,
    match: Annotated[
        str | None,
        typer.Option(help="Compare a head with the one at its place, or by function: with the most similar one."),
    ] = None,
    of: Of = None,
    encoder: Annotated[
        str | None, typer.Option(help="Encoder of the features, if it is a trained file or a vision model.")
    ] = None,
    examples: Annotated[int, typer.Option(help="Examples, drawn with the seed, whose maps are kept.")] = 32,
    seed: Seed = 0,
) -> None:
    """Compare two models on the same data, or a series of checkpoints. Run it again to continue."""
    first = open_atlas(path)
    opened = [open_atlas(other) for other in others]
    seeds = [open_atlas(other) for other in noise or ()]
    labels = None if steps is None else [label.strip() for label in steps.split(",")]
    from headatlas import compare as stage  # which imports torch

    stage.models(
        first, *opened, noise=seeds, name=name, steps=labels, match=match, of=of, encoder=encoder, examples=examples,
        seed=seed,
    )  # fmt: skip
    typer.echo(stage.summary(first, name))
