"""The application: what all commands share, and their exit status."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from headatlas import __version__, interrupts, options
from headatlas.data.readers import forms
from headatlas.errors import HeadatlasError, OptionError

if TYPE_CHECKING:
    from headatlas.atlas.store import Atlas


ORDER = [
    "demo", "run", "finetune", "evaluate", "collect", "features", "cluster", "project", "correlate", "null", "tsne",
    "qk", "probe", "compare", "serve", "export", "plot", "info", "table", "check", "encoder",
]  # fmt: skip


class Commands(TyperGroup):
    """Exit status: 0 done, 1 an error explained in one line, 2 wrong usage, 130 interrupted."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The commands in the order of use."""
        return sorted(super().list_commands(ctx), key=ORDER.index)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; report an error in one line."""
        try:
            with interrupts.remembered():
                return super().invoke(ctx)
        except HeadatlasError as error:
            typer.echo(f"headatlas: {error}", err=True)
            raise typer.Exit(1) from error
        except KeyboardInterrupt as stop:
            typer.echo("headatlas: stopped. What is written is kept: run the same command again to continue", err=True)
            raise typer.Exit(130) from stop


app = typer.Typer(
    name="headatlas",
    cls=Commands,
    help="What every attention head of a transformer does, over a whole dataset.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _not_negative(parameter: typer.CallbackParam, value: int) -> int:
    if value < 0:
        raise OptionError(f"--{parameter.name} {value}: it cannot be negative")
    return value


Model = Annotated[
    str, typer.Argument(help="Hub name, local folder with safetensors, `packaged` (MiniLM) or `packaged:vit` (images).")
]
Data = Annotated[str, typer.Argument(help=f"{forms()}.")]
Output = Annotated[str, typer.Option("-o", "--output", help="Path of the atlas: a folder or an fsspec URL.")]
TextColumn = Annotated[str | None, typer.Option(help="Column with the text.")]
PairColumn = Annotated[str | None, typer.Option(help="Column with the second text of a pair.")]
Limit = Annotated[int | None, typer.Option(help="Read only the first examples.")]
MaxTokens = Annotated[int | None, typer.Option(help="Longest text in tokens, if shorter than the model allows.")]
Overlong = Annotated[str, typer.Option(help="What to do with longer texts: truncate or window.")]
QkTokens = Annotated[int, typer.Option(help="Number of tokens whose queries and keys are stored.")]
Norms = Annotated[bool, typer.Option("--norms", help="Also keep what heads move: attention times value lengths.")]
Workers = Annotated[int, typer.Option(help=options.WORKERS, callback=_not_negative)]
Scheduler = Annotated[str | None, typer.Option(help=options.SCHEDULER)]
Of = Annotated[str | None, typer.Option(help=options.OF)]
Name = Annotated[str | None, typer.Option(help=options.NAME)]
Seed = Annotated[int, typer.Option(help=options.SEED, callback=_not_negative)]
AtlasPath = Annotated[str, typer.Argument(metavar="ATLAS", help="Folder or fsspec URL of an atlas.")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"headatlas {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """What every attention head of a transformer does, over a whole dataset."""


def check_output(path: str, suffixes: tuple[str, ...], flag: str = "-o") -> None:
    """Check that an output file can be written and has a valid suffix, before the work starts."""
    target = Path(path).expanduser()
    if target.suffix.lower() not in suffixes:
        raise OptionError(f"{flag} {path}: choose a name that ends in {', '.join(suffixes)}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(
            f"{flag} {path} cannot be written: {error.strerror}. Choose another path with {flag}"
        ) from error
    if target.is_dir() or not os.access(target.parent, os.W_OK):
        what = "this is a folder" if target.is_dir() else f"no permission to write in {target.parent}"
        raise OptionError(f"{flag} {path}: {what}. Choose another path with {flag}")


def open_atlas(path: str) -> Atlas:
    """Open an atlas."""
    from headatlas.atlas.store import Atlas

    return Atlas.open(path)
