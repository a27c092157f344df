"""The commands of the stages after collect: `features`, `encoder train`, `cluster`, `project`, `correlate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headatlas import wording
from headatlas.cli.base import AtlasPath, Name, Of, Scheduler, Seed, Workers, app, check_output, open_atlas
from headatlas.errors import OptionError

if TYPE_CHECKING:
    from headatlas.atlas.store import Atlas

encoder = typer.Typer(help="Train an encoder of attention maps of your own.", no_args_is_help=True)
app.add_typer(encoder, name="encoder")

Encoder = Annotated[
    str,
    typer.Option(help="attention-ssl, pooled, stats, a file made by `encoder train`, or a Hugging Face vision model."),
]


@app.command(
    epilog="""[bold]Examples[/bold]

    headatlas features sample.atlas

    headatlas features sample.atlas --encoder facebook/dinov2-small --workers 4"""
)
def features(
    path: AtlasPath,
    encoder: Encoder = "attention-ssl",
    name: Name = None,
    preprocess: Annotated[str, typer.Option(help="For vision models: default, or capstone (column-wise).")] = "default",
    seed: Seed = 0,
    workers: Workers = 0,
    scheduler: Scheduler = None,
) -> None:
    """Turn every map into a vector. Run the same command again to go on after a stop."""
    from headatlas.stages import features as stage

    atlas = open_atlas(path)
    stage.image(
        atlas, encoder, name=name, preprocess=preprocess, seed=seed, workers=workers, scheduler=scheduler
    )  # fmt: skip
    typer.echo(str(atlas))


@encoder.command(epilog="[bold]Example[/bold]\n\n    headatlas encoder train bert.atlas gpt2.atlas -o mine.safetensors")
def train(
    atlases: Annotated[list[str], typer.Argument(metavar="ATLAS…", help="Atlases whose maps it learns from.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The file to write.")],
    steps: Annotated[int | None, typer.Option(help="Steps of training.")] = None,
    seed: Seed = 0,
) -> None:
    """Train an encoder on the maps of some atlases, without labels (Barlow Twins)."""
    from headatlas.stages.features import train as training

    check_output(str(output), (".safetensors",))
    options: dict[str, Any] = {} if steps is None else {"steps": steps}
    facts = training.train([open_atlas(path) for path in atlases], output, seed=seed, **options)
    typer.echo(f"{output}: {facts['parameters']:,} parameters, trained in {facts['seconds']:,} s")
    for model, score in facts["held_out"].items():
        known = "too few texts to tell" if score is None else wording.interval(*score)
        typer.echo(f"  head retrieval on held-out texts of {model}: {known}")
    typer.echo(f"\nNext: headatlas features {atlases[0]} --encoder {output}")


def number(text: str, option: str, kind: type[float]) -> Any:
    """A number or `auto`."""
    if text == "auto":
        return text
    try:
        return kind(text)
    except ValueError:
        raise OptionError(f"--{option} {text}: give a number or auto") from None


@app.command(
    epilog="""[bold]Examples[/bold]

    headatlas cluster sample.atlas --method kmeans --k 12

    headatlas cluster sample.atlas --method dbscan --name loose --eps 0.8

    headatlas cluster sample.atlas --sweep -o curves.png"""
)
def cluster(
    path: AtlasPath,
    method: Annotated[str, typer.Option(help="kmeans, dbscan or hdbscan.")] = "kmeans",
    k: Annotated[str, typer.Option(help="kmeans: number of clusters, or auto.")] = "auto",
    eps: Annotated[str, typer.Option(help="dbscan: radius, or auto.")] = "auto",
    min_samples: Annotated[int, typer.Option(help="dbscan, hdbscan: neighbours that make a core.")] = 10,
    min_cluster_size: Annotated[str, typer.Option(help="hdbscan: maps in the smallest cluster, or auto.")] = "auto",
    level: Annotated[str, typer.Option(help="Cluster maps, or heads (the mean vector of each).")] = "maps",
    of: Of = None,
    name: Name = None,
    sample: Annotated[int | None, typer.Option(help="Maps to fit on, the rest is assigned; 0: all.")] = None,
    seed: Seed = 0,
    backend: Annotated[str, typer.Option(help="sklearn, or cuml where RAPIDS is installed.")] = "sklearn",
    workers: Workers = 0,
    scheduler: Scheduler = None,
    sweep: Annotated[bool, typer.Option("--sweep", help="Compare methods and numbers of clusters instead.")] = False,
    output: Annotated[str | None, typer.Option("-o", "--output", help="With --sweep: where the curves go.")] = None,
) -> None:
    """Find groups of maps (or of heads) that look alike."""
    from headatlas.stages import cluster as stage

    atlas = open_atlas(path)
    if sweep:
        _sweep(atlas, of, seed, output)
        return
    if output is not None:
        raise OptionError("-o is for --sweep: a clustering is kept in the atlas itself")
    own: dict[str, dict[str, Any]] = {
        "kmeans": {"k": number(k, "k", int)},
        "dbscan": {"eps": number(eps, "eps", float), "min_samples": min_samples},
        "hdbscan": {"min_cluster_size": number(min_cluster_size, "min-cluster-size", int), "min_samples": min_samples},
    }
    if method not in own:
        raise OptionError(f"--method {method}: choose {', '.join(own)}")
    options = own[method] | ({} if sample is None else {"sample": sample})
    stage.METHODS[method](
        atlas,
        of=of,
        name=name,
        level=level,
        seed=seed,
        backend=backend,
        workers=workers,
        scheduler=scheduler,
        **options,
    )
    typer.echo(str(atlas))
    typer.echo(f"\nNext: headatlas correlate {path}")


def _sweep(atlas: Atlas, of: str | None, seed: int, output: str | None) -> None:
    from headatlas.cli.inspect import print_table
    from headatlas.stages import cluster as stage

    if output is None:
        print_table(stage.sweep(atlas, of=of, seed=seed))
        return
    from headatlas import plot

    check_output(output, plot.SUFFIXES)
    print_table(stage.sweep(atlas, of=of, seed=seed))
    plot.save(plot.quality(atlas), output)


@app.command(
    epilog="""[bold]Examples[/bold]

    headatlas project sample.atlas

    headatlas project sample.atlas --method tsne --perplexity 50"""
)
def project(
    path: AtlasPath,
    method: Annotated[str, typer.Option(help="pca, umap or tsne.")] = "pca",
    neighbours: Annotated[int, typer.Option(help="umap: neighbours of a point that count.")] = 15,
    perplexity: Annotated[float, typer.Option(help="tsne: about how many neighbours count.")] = 30,
    of: Of = None,
    name: Name = None,
    sample: Annotated[int | None, typer.Option(help="Maps to fit on; the rest is placed among them.")] = None,
    seed: Seed = 0,
    workers: Workers = 0,
    scheduler: Scheduler = None,
) -> None:
    """Lay all maps out in the plane, and say how far each point can be trusted."""
    from headatlas.stages import project as stage

    if method not in stage.METHODS:
        raise OptionError(f"--method {method}: choose {', '.join(stage.METHODS)}")
    atlas = open_atlas(path)
    own: dict[str, dict[str, Any]] = {"pca": {}, "umap": {"neighbours": neighbours}, "tsne": {"perplexity": perplexity}}
    options = own[method] | ({} if sample is None else {"sample": sample})
    stage.METHODS[method](atlas, of=of, name=name, seed=seed, workers=workers, scheduler=scheduler, **options)
    typer.echo(str(atlas))


@app.command(
    epilog="""[bold]Examples[/bold]

    headatlas correlate sample.atlas

    headatlas correlate sample.atlas --of dbscan --column topic --column style"""
)
def correlate(
    path: AtlasPath,
    of: Of = None,
    column: Annotated[list[str] | None, typer.Option(help="Column of the dataset; all that fit if none.")] = None,
    permutations: Annotated[int, typer.Option(help="Shuffles behind every p.")] = 999,
    seed: Seed = 0,
) -> None:
    """Say what each cluster is, and which layers, heads, examples and columns it belongs to."""
    from headatlas.stages import correlate as stage

    atlas = open_atlas(path)
    stage.clusters(atlas, of=of, columns=column, permutations=permutations, seed=seed)
    typer.echo(stage.summary(atlas, of=of))
