"""The commands of the stages after collect: `features`, `encoder train`, `cluster`, `project`, `correlate`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headatlas import wording
from headatlas.cli.base import AtlasPath, Name, Of, Scheduler, Seed, Workers, app, check_output, open_atlas
from headatlas.cli.flags import given, takes
from headatlas.errors import OptionError
from headatlas.options import either
from headatlas.stages.cluster import methods as cluster_methods
from headatlas.stages.features import encoders
from headatlas.stages.project import methods as project_methods

if TYPE_CHECKING:
    from headatlas.atlas.store import Atlas

encoder = typer.Typer(help="Train your own encoder of attention maps.", no_args_is_help=True)
app.add_typer(encoder, name="encoder")

Encoder = Annotated[str, typer.Option(help=f"{encoders.choices()}.")]


@app.command(
    epilog="""[bold]Examples[/bold]

    headatlas features sample.atlas

    headatlas features sample.atlas --encoder facebook/dinov2-small --workers 4"""
)
def features(
    path: AtlasPath,
    encoder: Encoder = encoders.DEFAULT,
    name: Name = None,
    preprocess: Annotated[str, typer.Option(help="For vision models: default, or capstone (column-wise).")] = "default",
    seed: Seed = 0,
    workers: Workers = 0,
    scheduler: Scheduler = None,
) -> None:
    """Turn every map into a vector. Run the same command again to continue after a stop."""
    from headatlas.stages import features as stage

    atlas = open_atlas(path)
    stage.image(
        atlas, encoder, name=name, preprocess=preprocess, seed=seed, workers=workers, scheduler=scheduler
    )  # fmt: skip
    typer.echo(str(atlas))


@encoder.command(epilog="[bold]Example[/bold]\n\n    headatlas encoder train bert.atlas gpt2.atlas -o mine.safetensors")
def train(
    atlases: Annotated[list[str], typer.Argument(metavar="ATLAS…", help="Atlases to train on.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The file to write.")],
    views: Annotated[
        str, typer.Option(help=f"{either(tuple(encoders.VIEWS))}: {'; or '.join(encoders.VIEWS.values())}.")
    ] = "map",
    steps: Annotated[int | None, typer.Option(help="Training steps.")] = None,
    seed: Seed = 0,
) -> None:
    """Train an encoder on the maps of some atlases, without labels."""
    check_output(str(output), (".safetensors",))
    opened = [open_atlas(path) for path in atlases]
    from headatlas.stages.features import train as training  # which imports torch

    options: dict[str, Any] = {} if steps is None else {"steps": steps}
    facts = training.train(opened, output, views=views, seed=seed, **options)
    typer.echo(f"{output}: {facts['parameters']:,} parameters, trained in {facts['seconds']:,} s")
    for model, score in facts["held_out"].items():
        known = "too few texts" if score is None else wording.interval(*score)
        typer.echo(f"  {facts['measure']} on held-out texts of {model}: {known}")
    typer.echo(f"\nNext: headatlas features {atlases[0]} --encoder {output}")


CLUSTER = {name: method.options() for name, method in cluster_methods.CLASSES.items()}
PROJECT = {name: method.options() for name, method in project_methods.CLASSES.items()}


@app.command(
    epilog="""[bold]Examples[/bold]

    headatlas cluster sample.atlas --method kmeans --k 12

    headatlas cluster sample.atlas --method dbscan --name loose --eps 0.8

    headatlas cluster sample.atlas --sweep -o curves.png"""
)
@takes(CLUSTER)
def cluster(
    path: AtlasPath,
    method: Annotated[
        str | None, typer.Option(help=either(tuple(CLUSTER)) + ".", show_default=cluster_methods.DEFAULT)
    ] = None,
    *,
    sweep: Annotated[bool, typer.Option("--sweep", help="Compare methods and numbers of clusters instead.")] = False,
    output: Annotated[str | None, typer.Option("-o", "--output", help="With --sweep: file for the curves.")] = None,
    **flags: Any,
) -> None:
    """Find groups of similar maps (or heads)."""
    from headatlas.stages import cluster as stage

    atlas = open_atlas(path)
    if sweep:
        _sweep(atlas, method, flags, output)
        return
    if output is not None:
        raise OptionError("-o is for --sweep: a clustering is stored in the atlas")
    method = method or cluster_methods.DEFAULT
    options = given(flags, method, CLUSTER)
    stage.METHODS[method](atlas, **options)
    typer.echo(str(atlas))
    name = atlas.needed("cluster")
    if atlas.has_table("nodes", name):
        from headatlas.atlas.trees import tree_text

        typer.echo(f"\n{tree_text(atlas, name)}")
    typer.echo(f"\nNext: headatlas correlate {path}")


def _sweep(atlas: Atlas, method: str | None, flags: Mapping[str, Any], output: str | None) -> None:
    """Compare all methods, or one, and draw the curves."""
    from headatlas.cli.inspect import print_table
    from headatlas.stages import cluster as stage

    for name, value in flags.items():
        if value is not None and name not in ("of", "sample", "seed"):
            raise OptionError(f"--{name.replace('_', '-')} is for a single clustering, not for --sweep")
    options = given(flags, method or cluster_methods.DEFAULT, CLUSTER)
    options |= {} if method is None else {"methods": [method]}
    if output is None:
        print_table(stage.sweep(atlas, **options))
        return
    from headatlas import plot

    check_output(output, plot.SUFFIXES)
    print_table(stage.sweep(atlas, **options))
    plot.save(plot.quality(atlas), output)


@app.command(
    epilog="""[bold]Examples[/bold]

    headatlas project sample.atlas

    headatlas project sample.atlas --method tsne --perplexity 50"""
)
@takes(PROJECT)
def project(
    path: AtlasPath,
    method: Annotated[str, typer.Option(help=either(tuple(PROJECT)) + ".")] = project_methods.DEFAULT,
    **flags: Any,
) -> None:
    """Project all maps to the plane, and estimate how far each point can be trusted."""
    from headatlas.stages import project as stage

    options = given(flags, method, PROJECT)
    atlas = open_atlas(path)
    stage.METHODS[method](atlas, **options)
    typer.echo(str(atlas))


@app.command(
    epilog="""[bold]Examples[/bold]

    headatlas correlate sample.atlas

    headatlas correlate sample.atlas --of dbscan --column topic --column style

    headatlas correlate chats.atlas --group conversation"""
)
def correlate(
    path: AtlasPath,
    of: Of = None,
    column: Annotated[
        list[str] | None, typer.Option(help="Column of the dataset; by default all suitable ones.")
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            help="Column whose equal values have one source: such texts are shuffled together.",
            show_default="declared by the reader",
        ),
    ] = None,
    permutations: Annotated[int, typer.Option(help="Permutations per test.")] = 999,
    seed: Seed = 0,
) -> None:
    """Describe each cluster, and relate it to layers, heads, examples and columns."""
    from headatlas.stages import correlate as stage

    atlas = open_atlas(path)
    stage.clusters(atlas, of=of, columns=column, group=group, permutations=permutations, seed=seed)
    typer.echo(stage.summary(atlas, of=of))
