"""The command line. Results go to stdout, progress to stderr; each command imports the heavy parts it needs."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from headatlas import __version__
from headatlas.errors import HeadatlasError, OptionError

if TYPE_CHECKING:
    from headatlas.store import Atlas


class Commands(TyperGroup):
    """Ends with 0 done, 1 a mistake that one line explains, 2 wrong usage, 130 interrupted."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command and say in one line what went wrong."""
        try:
            return super().invoke(ctx)
        except HeadatlasError as error:
            typer.echo(f"headatlas: {error}", err=True)
            raise typer.Exit(1) from error
        except KeyboardInterrupt as stop:
            typer.echo("headatlas: stopped. What is written is kept: run the same command again to go on", err=True)
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

AtlasPath = Annotated[str, typer.Argument(metavar="ATLAS", help="A folder or an fsspec URL that holds an atlas.")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"headatlas {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """What every attention head of a transformer does, over a whole dataset."""


@app.command(
    epilog="""[bold]Examples[/bold]

    headatlas collect packaged sample -o sample.atlas

    headatlas collect bert-base-uncased squad:dev-v2.0.json -o bert.atlas --limit 2000

    headatlas collect ./my-model reviews.csv --text-column review -o reviews.atlas --workers 4"""
)
def collect(
    model: Annotated[str, typer.Argument(help="Hub name, local folder with safetensors, or `packaged`.")],
    data: Annotated[
        str,
        typer.Argument(
            help="sample, FILE.txt|jsonl|csv|tsv|parquet, squad:FILE, conllu:FILE, images:FOLDER, hf:NAME[:SPLIT]."
        ),
    ],
    output: Annotated[str, typer.Option("-o", "--output", help="Where the atlas goes: a folder or an fsspec URL.")],
    text_column: Annotated[str | None, typer.Option(help="Column that holds the text.")] = None,
    pair_column: Annotated[str | None, typer.Option(help="Column that holds the second text of a pair.")] = None,
    limit: Annotated[int | None, typer.Option(help="Read only the first examples.")] = None,
    resolution: Annotated[int, typer.Option(help="Side of the pooled maps.")] = 32,
    max_tokens: Annotated[int | None, typer.Option(help="Longest text, if shorter than the model takes.")] = None,
    overlong: Annotated[str, typer.Option(help="What to do with longer texts: truncate or window.")] = "truncate",
    qk_tokens: Annotated[int, typer.Option(help="Tokens whose queries and keys are kept.")] = 20_000,
    seed: Annotated[int, typer.Option(help="Seed of the sample of tokens.")] = 0,
    workers: Annotated[int, typer.Option(help="Local processes; 0 works in threads of this one.")] = 0,
    scheduler: Annotated[str | None, typer.Option(help="Address of a running Dask scheduler.")] = None,
) -> None:
    """Collect what every head does on every example. Run the same command again to go on after a stop."""
    from headatlas import collect as stage
    from headatlas import data as reader

    if overlong not in ("truncate", "window"):
        raise OptionError(f"--overlong {overlong}: choose truncate or window")
    dataset = reader.load(data, text_column=text_column, pair_column=pair_column, limit=limit)
    atlas = stage.maps(
        model,
        dataset,
        output,
        resolution=resolution,
        max_tokens=max_tokens,
        overlong="window" if overlong == "window" else "truncate",
        qk_tokens=qk_tokens,
        seed=seed,
        workers=workers,
        scheduler=scheduler,
    )
    typer.echo(str(atlas))


@app.command(epilog="[bold]Example[/bold]\n\n    headatlas info sample.atlas --json")
def info(
    path: AtlasPath, as_json: Annotated[bool, typer.Option("--json", help="Everything, as JSON.")] = False
) -> None:
    """What an atlas holds, and what it lacks."""
    atlas = _open(path)
    if not as_json:
        typer.echo(str(atlas))
        return
    arrays = {
        name: {"shape": list(atlas.array(name).shape), "dtype": str(atlas.array(name).dtype)} for name in atlas.arrays()
    }
    facts = {"path": atlas.files.url, "bytes": atlas.files.size(), "arrays": arrays, "tables": atlas.tables()}
    typer.echo(json.dumps(atlas.header | facts, indent=1, ensure_ascii=False))


@app.command(
    epilog="""[bold]Examples[/bold]

    headatlas table sample.atlas heads

    headatlas table sample.atlas heads --csv > heads.csv

    headatlas table sample.atlas tokens --parquet > tokens.parquet"""
)
def table(
    path: AtlasPath,
    name: Annotated[str, typer.Argument(help="Name of the table; `headatlas info` lists them.")],
    as_csv: Annotated[bool, typer.Option("--csv", help="Write all of it as CSV to stdout.")] = False,
    as_parquet: Annotated[bool, typer.Option("--parquet", help="Write all of it as Parquet to stdout.")] = False,
) -> None:
    """Print a table of an atlas, or write it for another program."""
    if as_csv and as_parquet:
        raise OptionError("--csv and --parquet: choose one")
    if as_parquet and sys.stdout.isatty():
        raise OptionError("--parquet writes bytes: send them to a file with > FILE.parquet")
    content = _open(path).table(name)
    if as_parquet:
        import pyarrow.parquet as pq

        pq.write_table(content, sys.stdout.buffer)
    elif as_csv:
        _write_csv(content)
    else:
        _print_table(content)


@app.command(epilog="[bold]Example[/bold]\n\n    headatlas demo")
def demo(
    output: Annotated[str, typer.Option("-o", "--output", help="Where the atlas goes.")] = "demo.atlas",
) -> None:
    """Collect our own corpus with the packaged model, offline, and show the atlas."""
    from headatlas import collect as stage

    atlas = stage.maps("packaged", "sample", output)
    typer.echo(str(atlas))
    typer.echo(f"\nNext: headatlas table {output} heads")


def _open(path: str) -> Atlas:
    from headatlas.store import Atlas

    return Atlas.open(path)


def _write_csv(content: Any) -> None:
    """CSV as everybody reads it; a list in a cell is written as JSON."""
    import csv

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(content.column_names)
    for batch in content.to_batches(max_chunksize=4096):
        columns = [column.to_pylist() for column in batch.columns]
        for row in zip(*columns, strict=True):
            writer.writerow(
                [json.dumps(cell, ensure_ascii=False) if isinstance(cell, list | dict) else cell for cell in row]
            )


def _print_table(content: Any, most: int = 40) -> None:
    """The first rows, and as many columns as the terminal has room for; what is left out is said."""
    from rich.console import Console

    console = Console(highlight=False)
    rows, count = content.slice(0, most).to_pylist(), len(content.schema)
    grid = _grid(content.schema, rows, count)
    if console.is_terminal:
        roomy = console.options.update(max_width=10_000)
        while count > 1 and console.measure(grid, options=roomy).maximum > console.width:
            count -= 1
            grid = _grid(content.schema, rows, count)
    else:
        console.width = 42 * count
    console.print(grid)
    hidden = [f"{content.num_rows - most:,} more rows"] * (content.num_rows > most)
    hidden += [f"{len(content.schema) - count} more columns"] * (count < len(content.schema))
    if hidden:
        typer.echo(f"{' and '.join(hidden)}. All of it: --csv or --parquet", err=True)


def _grid(schema: Any, rows: list[dict[str, Any]], count: int) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in list(schema)[:count]:
        side: Any = "right" if str(column.type).startswith(("int", "float", "double")) else "left"
        grid.add_column(Text(column.name), justify=side, overflow="ellipsis", no_wrap=True, max_width=40)
    for row in rows:
        grid.add_row(*(Text(_cell(cell)) for cell in list(row.values())[:count]))
    return grid


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else str(value).replace("\n", " ")


def main() -> None:
    """Run the command line."""
    app()


__all__ = ["app", "main"]
