"""The commands `serve` and `export`: the page, live or as static files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from headatlas.cli.base import AtlasPath, app, check_output, open_atlas
from headatlas.errors import OptionError
from headatlas.web import inline

if TYPE_CHECKING:
    from headatlas.web.single.page import SinglePage

FullModel = Annotated[str | None, typer.Option("--model", help="Model for full maps; by default that of the atlas.")]


@app.command(
    epilog="""[bold]Examples[/bold]

    headatlas serve sample.atlas

    headatlas serve bert.atlas --port 9000 --no-open --model ./bert

    headatlas serve bert.atlas --edit"""
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
    edit: Annotated[
        bool, typer.Option("--edit", help="Let the page write names and notes, into a file beside the atlas.")
    ] = False,
) -> None:
    """Show an atlas in the browser; press Ctrl+C to stop."""
    atlas = open_atlas(path)
    from headatlas.web.server.serve import serve as run

    run(atlas, port=port, host=host, token=token, browser=browser, model=model, edit=edit)


@app.command(
    epilog="""[bold]Examples[/bold]

    headatlas export sample.atlas site/

    headatlas export bert.atlas site/ --full 40 --examples 500 --tsne 12

    headatlas export bert.atlas --single text-3.html --example 3"""
)
def export(
    path: AtlasPath,
    folder: Annotated[
        str | None, typer.Argument(metavar="FOLDER", help="A new or empty folder, or an earlier export.")
    ] = None,
    full: Annotated[
        int | None, typer.Option(help="Examples with full maps; by default 12, or as many as fit in 100 MB.")
    ] = None,
    examples: Annotated[
        int | None, typer.Option(help="Examples with pooled maps; by default as many as fit in 1 GB.")
    ] = None,
    tsne: Annotated[int, typer.Option(help="Examples whose t-SNE of all heads is written; up to a minute each.")] = 0,
    single: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write one view as a single .html file instead.")
    ] = None,
    example: Annotated[int | None, typer.Option(help="--single: open on this example.")] = None,
    head: Annotated[str | None, typer.Option(help="--single: open on this head, such as 3.10.")] = None,
    cluster: Annotated[int | None, typer.Option(help="--single: open on this cluster.")] = None,
    model: FullModel = None,
) -> None:
    """Write the page as static files for any web server, or one view as a single file that opens from disk."""
    atlas = open_atlas(path)
    if single is not None:
        if folder is not None or examples is not None or tsne:
            raise OptionError("--single writes one file: leave out FOLDER, --examples and --tsne")
        check_output(single, (".html", ".htm"), "--single")
        _write_single(single, inline(atlas, example=example, head=head, cluster=cluster, model=model))
        return
    if folder is None or (example, head, cluster) != (None, None, None):
        raise OptionError("give a FOLDER, or --single FILE with --example, --head or --cluster")
    from headatlas.web.export import export as write  # which imports torch

    done = write(atlas, folder, full=full, examples=examples, tsne=tsne, model=model)
    tsne_note = f", t-SNE of {done.tsne}" if done.tsne else ""
    typer.echo(
        f"{folder}: {done.files:,} files, {done.bytes / 1e6:,.1f} MB, full maps of {done.full} examples{tsne_note}"
    )
    typer.echo(f"\nNext: python -m http.server --bind 127.0.0.1 --directory {folder}")


def _write_single(file: str, page: SinglePage) -> None:
    page.save(file)
    typer.echo(f"{file}: {len(page.html) / 1e6:,.1f} MB, {page.contents.holds}. Open it in a browser")
