"""The command `plot`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from headatlas.cli.base import AtlasPath, Of, app, check_output, open_atlas
from headatlas.errors import OptionError


@app.command(
    epilog="""[bold]Examples[/bold]

    headatlas plot sample.atlas clusters -o clusters.png

    headatlas plot sample.atlas heads --by entropy_relative --dark -o heads.svg"""
)
def plot(
    path: AtlasPath,
    kind: Annotated[str, typer.Argument(help="heads, clusters, layers, projection or quality.")],
    output: Annotated[str, typer.Option("-o", "--output", help="A .png, .svg or .pdf file.")],
    of: Of = None,
    by: Annotated[str | None, typer.Option(help="heads, projection: what the color shows.")] = None,
    quantile: Annotated[bool, typer.Option("--quantile", help="projection: quantile-equidistant axes.")] = False,
    dark: Annotated[bool, typer.Option("--dark", help="Use the dark theme.")] = False,
) -> None:
    """Draw a figure of an atlas."""
    from headatlas import plot as drawing

    if kind not in drawing.FIGURES:
        raise OptionError(f"no figure is named {kind!r}: choose {', '.join(drawing.FIGURES)}")
    options: dict[str, Any] = {"dark": dark} | ({} if of is None else {"of": of})
    if by is not None:
        if kind not in ("heads", "projection"):
            raise OptionError(f"--by is for heads and projection, not for {kind}")
        options["by"] = by
    if quantile:
        if kind != "projection":
            raise OptionError(f"--quantile is for projection, not for {kind}")
        options["quantile"] = True
    check_output(output, drawing.SUFFIXES)
    drawing.save(drawing.FIGURES[kind](open_atlas(path), **options), output)
    typer.echo(output)
