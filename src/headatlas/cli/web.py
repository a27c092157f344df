"""The commands `serve` and `export`: the page, live or as static files."""

from __future__ import annotations

from typing import Annotated

import typer

from headatlas.cli.base import AtlasPath, app, open_atlas

FullModel = Annotated[str | None, typer.Option("--model", help="Model for full maps; by default that of the atlas.")]


@app.command(
    epilog="""[bold]Examples[/bold]

    headatlas serve sample.atlas

    headatlas serve bert.atlas --port 9000 --no-open --model ./bert"""
)
def serve(
    path: AtlasPath,
    port: Annotated[int, typer.Option(help="Port; if it is in use, the next free one.")] = 8765,
    host: Annotated[
        str, typer.Option(help="Address to listen on; other than this machine needs a token.")
    ] = "127.0.0.1",
    token: Annotated[str | None, typer.Option(help="Secret that clients must send.")] = None,
    browser: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
    model: FullModel = None,
) -> None:
    """Show an atlas in the browser; press Ctrl+C to stop."""
    atlas = open_atlas(path)
    from headatlas.web.server.serve import serve as run

    run(atlas, port=port, host=host, token=token, browser=browser, model=model)


@app.command(
    epilog="""[bold]Examples[/bold]

    headatlas export sample.atlas site/

    headatlas export bert.atlas site/ --full 40 --examples 500 --tsne 12"""
)
def export(
    path: AtlasPath,
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="A new or empty folder, or an earlier export.")],
    full: Annotated[int, typer.Option(help="Examples whose full maps are written.")] = 12,
    examples: Annotated[
        int | None, typer.Option(help="Examples with pooled maps; by default as many as fit in 1 GB.")
    ] = None,
    tsne: Annotated[int, typer.Option(help="Examples whose t-SNE of all heads is written; up to a minute each.")] = 0,
    model: FullModel = None,
) -> None:
    """Write the page as static files for any web server."""
    atlas = open_atlas(path)
    from headatlas.web.export import export as write  # which imports torch

    done = write(atlas, folder, full=full, examples=examples, tsne=tsne, model=model)
    tsne_note = f", t-SNE of {done.tsne}" if done.tsne else ""
    typer.echo(
        f"{folder}: {done.files:,} files, {done.bytes / 1e6:,.1f} MB, full maps of {done.full} examples{tsne_note}"
    )
    typer.echo(f"\nNext: python -m http.server --bind 127.0.0.1 --directory {folder}")
