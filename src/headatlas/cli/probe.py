"""The commands of `probe`: one per analysis, and `all`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from headatlas.cli.base import AtlasPath, app, open_atlas
from headatlas.cli.flags import given, takes
from headatlas.stages.probe.analyses import ANALYSES, FUNCTIONS

probe = typer.Typer(help="What heads look at, and what they write: one command per analysis.", no_args_is_help=True)
app.add_typer(probe, name="probe")

ModelFolder = Annotated[str | None, typer.Option(help="Folder of the model, where it is not found by its name.")]


def _add(name: str) -> None:
    """The command of one analysis, with a flag for each of its options."""
    analysis = ANALYSES[name]
    methods = {name: analysis.options()}

    @probe.command(
        name,
        help=f"{analysis.question} Run the same command again to continue after a stop.",
        epilog=f"[bold]Example[/bold]\n\n    headatlas probe {name} sample.atlas",
    )
    @takes(methods)
    def command(path: AtlasPath, *, model: ModelFolder = None, **flags: Any) -> None:
        options = given(flags, name, methods)
        atlas = open_atlas(path)
        from headatlas.cli.inspect import print_table

        print_table(FUNCTIONS[name](atlas, model=model, **options))


for _name in ANALYSES:
    _add(_name)


@probe.command(
    "all",
    epilog="""[bold]Example[/bold]

    headatlas probe all sample.atlas""",
)
def every(path: AtlasPath, model: ModelFolder = None) -> None:
    """Run every analysis that the data allow, with its defaults, and print what was found."""
    atlas = open_atlas(path)
    for name, analysis in ANALYSES.items():
        if reason := analysis().missing(atlas):
            typer.echo(f"{name}: {reason}", err=True)
            continue
        FUNCTIONS[name](atlas, model=model)
    typer.echo(str(atlas))
