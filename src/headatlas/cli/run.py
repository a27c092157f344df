"""The commands `run` and `demo`: every stage, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from headatlas.cli.base import Data, Limit, Model, Output, PairColumn, Scheduler, Seed, TextColumn, Workers, app
from headatlas.cli.stages import Encoder
from headatlas.errors import OptionError

if TYPE_CHECKING:
    from headatlas.atlas.store import Atlas

Method = Annotated[list[str] | None, typer.Option(help="kmeans, dbscan or hdbscan; more than one if you like.")]
Projection = Annotated[str, typer.Option(help="Points of the plane: pca (quick), umap or tsne.")]


@app.command(
    epilog="""[bold]Examples[/bold]

    headatlas run packaged sample -o sample.atlas

    headatlas run bert-base-uncased squad:dev-v2.0.json -o bert.atlas --method kmeans --method dbscan"""
)
def run(
    model: Model,
    data: Data,
    output: Output,
    text_column: TextColumn = None,
    pair_column: PairColumn = None,
    limit: Limit = None,
    encoder: Encoder = "attention-ssl",
    method: Method = None,
    projection: Projection = "pca",
    seed: Seed = 0,
    workers: Workers = 0,
    scheduler: Scheduler = None,
) -> None:
    """Collect, features, cluster, correlate, project. Run the same command again to go on after a stop."""
    from headatlas import data as reader
    from headatlas.stages import cluster, collect, project
    from headatlas.stages.features.encoders import choose

    methods = method or ["kmeans"]
    unknown = [one for one in methods if one not in cluster.METHODS]
    if unknown:
        raise OptionError(f"--method {unknown[0]}: choose {', '.join(cluster.METHODS)}")
    if projection not in project.METHODS:
        raise OptionError(f"--projection {projection}: choose {', '.join(project.METHODS)}")
    choose(encoder, "default", 1, seed)  # a wrong name is told now, not after hours of collecting
    dataset = reader.load(data, text_column=text_column, pair_column=pair_column, limit=limit)
    atlas = collect.maps(model, dataset, output, seed=seed, workers=workers, scheduler=scheduler)
    for text in chain(atlas, encoder, methods, projection, seed, workers, scheduler):
        typer.echo(text + "\n")
    typer.echo(f"Next: headatlas serve {output} · headatlas table {output} clusters")


def chain(
    atlas: Atlas,
    encoder: str,
    methods: list[str],
    projection: str,
    seed: int = 0,
    workers: int = 0,
    scheduler: str | None = None,
) -> list[str]:
    """Every stage after collect; a summary for each method. The first method is the latest result in the end."""
    from headatlas.atlas import results
    from headatlas.stages import cluster, correlate, features, project

    vectors = features.image(atlas, encoder, seed=seed, workers=workers, scheduler=scheduler)
    of = vectors.path.split("/")[0]  # it may have been there before a later one
    texts = []
    for method in reversed(methods):
        cluster.METHODS[method](atlas, of=of, seed=seed, workers=workers, scheduler=scheduler)
        correlate.clusters(atlas, of=method, seed=seed)
        texts.append(correlate.summary(atlas, of=method))
    project.METHODS[projection](atlas, of=of, seed=seed, workers=workers, scheduler=scheduler)
    for stage in ("cluster", "correlate"):  # it may have been there before the others
        results.prefer(atlas, stage, methods[0])
    return texts[::-1]


@app.command(epilog="[bold]Example[/bold]\n\n    headatlas demo")
def demo(
    output: Annotated[str, typer.Option("-o", "--output", help="Where the atlas goes.")] = "demo.atlas",
    show: Annotated[bool, typer.Option("--serve/--no-serve", help="Show the page in the end, until Ctrl-C.")] = True,
    browser: Annotated[bool, typer.Option("--open/--no-open", help="Open a browser on the page.")] = True,
) -> None:
    """Run every stage on our own corpus with the packaged model, offline, and open the page."""
    from headatlas.stages import collect

    atlas = collect.maps("packaged", "sample", output)
    for text in chain(atlas, "attention-ssl", ["kmeans"], "tsne"):
        typer.echo(text)
    if show:
        from headatlas.web.server.serve import serve

        serve(atlas, browser=browser)
    else:
        typer.echo(f"\nNext: headatlas serve {output} · headatlas table {output} clusters")
