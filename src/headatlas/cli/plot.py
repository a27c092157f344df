"""The command `plot`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from headatlas.cli.base import AtlasPath, Of, app, check_output, open_atlas
from headatlas.errors import OptionError


@app.command(
    epilog="""[bold]Examples[/bold]

    headatlas plot sample.atlas clusters -o clusters.png

    headatlas plot sample.atlas heads --by entropy_relative --dark -o heads.svg

    headatlas plot sample.atlas head --layer 2 --head 9 -o head.png

    headatlas plot sample.atlas qk --layer 2 --head 9 --by position -o qk.png"""
)
def plot(
    path: AtlasPath,
    kind: Annotated[str, typer.Argument(help="heads, head, clusters, layers, projection, quality, qk or compare.")],
    output: Annotated[str, typer.Option("-o", "--output", help="A .png, .svg or .pdf file.")],
    of: Of = None,
    by: Annotated[str | None, typer.Option(help="heads, projection, qk: what the color shows.")] = None,
    layer: Annotated[int | None, typer.Option(help="head, qk: number of its layer, from 0.")] = None,
    head: Annotated[int | None, typer.Option(help="head, qk: its number in the layer, from 0.")] = None,
    quantile: Annotated[bool, typer.Option("--quantile", help="projection: quantile-equidistant axes.")] = False,
    dark: Annotated[bool, typer.Option("--dark", help="Use the dark theme.")] = False,
) -> None:
    """Draw a figure of an atlas."""
    from headatlas import plot as drawing

    if kind not in drawing.FIGURES:
        raise OptionError(f"no figure is named {kind!r}: choose {', '.join(drawing.FIGURES)}")
    options: dict[str, Any] = {"dark": dark} | ({} if of is None else {"of": of})
    if by is not None:
        if kind not in ("heads", "projection", "qk"):
            raise OptionError(f"--by is for heads, projection and qk, not for {kind}")
        options["by"] = by
    if quantile:
        if kind != "projection":
            raise OptionError(f"--quantile is for projection, not for {kind}")
        options["quantile"] = True
    options |= _head_options(kind, layer, head)
    check_output(output, drawing.SUFFIXES)
    drawing.save(drawing.FIGURES[kind](open_atlas(path), **options), output)
    typer.echo(output)


def _head_options(kind: str, layer: int | None, head: int | None) -> dict[str, Any]:
    """The head to draw, for the figures of one head."""
    if kind not in ("head", "qk"):
        if layer is not None or head is not None:
            raise OptionError(f"--layer and --head are for head and qk, not for {kind}")
        return {}
    if layer is None or head is None:
        raise OptionError(f"the figure {kind} needs --layer and --head, such as --layer 2 --head 9")
    return {"layer": layer, "head": head} if kind == "head" else {"head": (layer, head)}
