"""The commands of `probe`: one per analysis, and `all`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headatlas.cli.base import AtlasPath, Seed, app, open_atlas
from headatlas.cli.flags import given, takes
from headatlas.errors import DataError, ModelError
from headatlas.stages.probe.analyses import ANALYSES, FUNCTIONS

if TYPE_CHECKING:
    from headatlas.atlas.store import Atlas

probe = typer.Typer(help="What heads look at, and what they write: one command per analysis.", no_args_is_help=True)
app.add_typer(probe, name="probe")

ModelFolder = Annotated[str | None, typer.Option(help="Folder of the model, where it is not found by its name.")]
FROM = "Condition on the token that attends: token, kind, position, upos, xpos, lemma or deprel. Several must all hold."
TO = "Condition on the token that is attended to: the same, or offset, relation and direction."


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
        table = FUNCTIONS[name](atlas, model=model, **options)
        if not echo_findings(atlas, name):
            from headatlas.cli.inspect import print_table

            print_table(table)


def echo_findings(atlas: Atlas, *names: str) -> bool:
    """Print what analyses say, each under its question; returns whether there was a sentence."""
    from headatlas.stages.probe.said import answers
    from headatlas.wording import capitalize, many

    listed = answers(atlas, [ANALYSES[name] for name in names])
    for answer in listed:
        name = answer.analysis.name
        if answer.examples is None:
            typer.echo(f"{name}: not run: {answer.missing or answer.command}\n")
        elif answer.sentences:
            typer.echo(f"{name} ({many(answer.examples, 'example')}): {answer.analysis.question}")
            for sentence in answer.sentences:
                typer.echo(f"  {capitalize(sentence)}.")
            typer.echo(f"  All numbers: headatlas table {atlas.files.url} {answer.analysis.table}\n")
        else:
            typer.echo(f"{name} ({many(answer.examples, 'example')}): {answer.analysis.question}")
            typer.echo(f"  Numbers: headatlas table {atlas.files.url} {answer.analysis.table}\n")
    return any(answer.sentences for answer in listed)


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
        if analysis().missing(atlas):
            continue
        try:
            FUNCTIONS[name](atlas, model=model)
        except (DataError, ModelError) as error:  # what only the model itself shows
            typer.echo(f"{name}: {error}", err=True)
    echo_findings(atlas, *ANALYSES)


@probe.command(
    "search",
    epilog="""[bold]Examples[/bold]

    headatlas probe search sample.atlas --to offset=-1

    headatlas probe search sample.atlas --from kind=capitalized --to kind=number

    headatlas probe search treebank.atlas --from upos=VERB --to relation=obj""",
)
def search(
    path: AtlasPath,
    source: Annotated[list[str] | None, typer.Option("--from", metavar="NAME=VALUE", help=FROM)] = None,
    target: Annotated[list[str] | None, typer.Option("--to", metavar="NAME=VALUE", help=TO)] = None,
    examples: Annotated[
        int, typer.Option(help="Examples, drawn with the seed; all if there are no more.", min=1)
    ] = 200,
    most: Annotated[int, typer.Option(help="Heads to list.", min=1)] = 20,
    seed: Seed = 0,
    model: ModelFolder = None,
) -> None:
    """Which heads attend from tokens of one kind to tokens of another? Nothing is stored."""
    from headatlas.cli.inspect import print_table
    from headatlas.stages.probe.conditions import parsed
    from headatlas.stages.probe.head_search import search as find
    from headatlas.wording import capitalize
    from headatlas.wording.probe_search import search_line

    first, second = parsed(source or [], "--from"), parsed(target or [], "--to")
    table = find(open_atlas(path), first, second, examples=examples, seed=seed, model=model)
    typer.echo(f"{capitalize(search_line(first, second, table.slice(0, 1).to_pylist()[0]))}.")
    print_table(table.slice(0, most))


@probe.command(
    "heads-json",
    epilog="""[bold]Example[/bold]

    headatlas probe heads-json sample.atlas > heads.json""",
)
def heads_json(path: AtlasPath) -> None:
    """Write the roles that `probe detect` found as JSON to stdout: for each head its roles, the strongest first."""
    atlas = open_atlas(path)
    from headatlas.stages.probe.roles import heads_json

    typer.echo(json.dumps(heads_json(atlas), indent=1, ensure_ascii=False))
