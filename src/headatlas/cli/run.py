"""The commands `run` and `demo`: all stages in order."""

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
from headatlas.cli.probe import echo_findings
from headatlas.cli.stages import CLUSTER, PROJECT, Encoder
from headatlas.options import either
from headatlas.stages.cluster import methods as cluster_methods
from headatlas.stages.features import encoders
from headatlas.stages.probe.analyses import ANALYSES
from headatlas.stages.project import methods as project_methods

Method = Annotated[list[str] | None, typer.Option(help=f"{either(tuple(CLUSTER))}; can be given more than once.")]
Null = Annotated[
    bool, typer.Option("--null/--no-null", help="Also count the patterns without training, and with shuffled words.")
]
EVERY = "all"
DEMO_PROBES = ("surface", "detect")  # a few seconds each, for texts of any kind
Probes = Annotated[
    list[str] | None,
    typer.Option("--probe", help=f"Also probe heads: {either((*ANALYSES, EVERY))}; can be given more than once."),
]
Projection = Annotated[
    str,
    typer.Option(help=f"Projection: {either((*PROJECT, 'auto'))}, t-SNE up to {project_methods.TSNE_MAPS[-1]:,} maps."),
]


@app.command(
    epilog="""[bold]Examples[/bold]

    headatlas run packaged sample -o sample.atlas

    headatlas run packaged:vit sample:images -o images.atlas

    headatlas run bert-base-uncased squad:dev-v2.0.json -o bert.atlas --method kmeans --method dbscan"""
)
def run(
    model: Model,
    data: Data,
    output: Output,
    text_column: TextColumn = None,
    pair_column: PairColumn = None,
    limit: Limit = None,
    max_tokens: MaxTokens = None,
    overlong: Overlong = "truncate",
    qk_tokens: QkTokens = 20_000,
    norms: Norms = False,
    encoder: Encoder = encoders.DEFAULT,
    method: Method = None,
    projection: Projection = project_methods.AUTO,
    null: Null = False,
    probe: Probes = None,
    seed: Seed = 0,
    workers: Workers = 0,
    scheduler: Scheduler = None,
) -> None:
    """Collect, features, cluster, correlate, project. Run the same command again to continue after a stop."""
    from headatlas import data as readers
    from headatlas import pipeline
    from headatlas.stages import correlate
    from headatlas.stages.collect.options import parse_overlong

    methods = list(dict.fromkeys(method or [cluster_methods.DEFAULT]))
    probes = [*ANALYSES] if EVERY in (probe or ()) else list(dict.fromkeys(probe or ()))
    pipeline.check(encoder, methods, projection, probes=probes)
    dataset = readers.load(data, text_column=text_column, pair_column=pair_column, limit=limit)
    atlas = pipeline.run(
        model, dataset, output, max_tokens=max_tokens, overlong=parse_overlong(overlong), qk_tokens=qk_tokens,
        norms=norms, encoder=encoder, methods=methods, projection=projection, null=null, probes=probes, seed=seed,
        workers=workers, scheduler=scheduler,
    )  # fmt: skip
    for name in methods:
        typer.echo(correlate.summary(atlas, of=name) + "\n")
    echo_findings(atlas, *probes)
    typer.echo(f"Next: headatlas serve {output} · headatlas table {output} clusters")


@app.command(epilog="[bold]Example[/bold]\n\n    headatlas demo")
def demo(
    output: Annotated[str, typer.Option("-o", "--output", help="Path of the atlas.")] = "demo.atlas",
    show: Annotated[
        bool, typer.Option("--serve/--no-serve", help="Show the page at the end; press Ctrl+C to stop.")
    ] = True,
    browser: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
) -> None:
    """Run every stage on the packaged corpus with the packaged model, offline, and open the page."""
    from headatlas import pipeline
    from headatlas.stages import correlate

    atlas = pipeline.run("packaged", "sample", output, null=True, probes=DEMO_PROBES)
    typer.echo(correlate.summary(atlas) + "\n")
    echo_findings(atlas, *DEMO_PROBES)
    if show:
        from headatlas.web.server.serve import serve

        serve(atlas, browser=browser)
    else:
        typer.echo(f"Next: headatlas serve {output} · headatlas table {output} clusters")
