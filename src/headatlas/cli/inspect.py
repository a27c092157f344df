"""The commands `info` and `table`: the contents of an atlas."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from headatlas.atlas import schema
from headatlas.cli.base import AtlasPath, Of, app, open_atlas
from headatlas.errors import OptionError

if TYPE_CHECKING:
    from headatlas.atlas.store import Atlas


@app.command(epilog="[bold]Example[/bold]\n\n    headatlas info sample.atlas --json")
def info(
    path: AtlasPath, as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False
) -> None:
    """Show what an atlas contains and what is missing."""
    atlas = open_atlas(path)
    if not as_json:
        typer.echo(str(atlas))
        return
    typer.echo(json.dumps(atlas.consistent(lambda: _facts(atlas)), indent=1, ensure_ascii=False))


def _facts(atlas: Atlas) -> dict[str, Any]:
    """Everything that is known of an atlas without reading it."""
    held = {name: atlas.array(name, of) for name in atlas.arrays() if (of := atlas.holder(name)) is not None}
    arrays = {name: {"shape": list(array.shape), "dtype": str(array.dtype)} for name, array in held.items()}
    facts = {"path": atlas.files.url, "bytes": atlas.files.size(), "arrays": arrays, "tables": atlas.tables()}
    return atlas.header | facts


@app.command(
    epilog="""[bold]Examples[/bold]

    headatlas table sample.atlas heads

    headatlas table sample.atlas heads --csv > heads.csv

    headatlas table sample.atlas clusters --of kmeans

    headatlas table sample.atlas stats --csv > stats.csv

    headatlas table sample.atlas tokens --parquet > tokens.parquet"""
)
def table(
    path: AtlasPath,
    name: Annotated[str, typer.Argument(help="A table that `headatlas info` lists; stats, a row per map; or notes.")],
    of: Of = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Write the whole table as CSV to stdout.")] = False,
    as_parquet: Annotated[bool, typer.Option("--parquet", help="Write the whole table as Parquet to stdout.")] = False,
) -> None:
    """Print a table of an atlas, or write it for another program."""
    if as_csv and as_parquet:
        raise OptionError("--csv and --parquet: choose one")
    if as_parquet and sys.stdout.isatty():
        raise OptionError("--parquet writes binary data: redirect it with > FILE.parquet")
    atlas = open_atlas(path)
    if of is not None and (name in ("stats", "notes") or name in schema.TABLES):
        stage = schema.TABLES[name].stage if name in schema.TABLES else schema.COLLECT
        if stage == schema.COLLECT:
            raise OptionError(f"--of {of}: there is only one table {name}. Omit --of")
        atlas.needed(stage, of)
    parts, rows = _parts(atlas, name, of)
    if as_parquet:
        _write_parquet(parts)
    elif as_csv:
        write_csv(parts, sys.stdout)
    else:
        print_table(next(parts), total=rows)


def _parts(atlas: Atlas, name: str, of: str | None) -> tuple[Iterator[Any], int]:
    """A table, in parts if it is the table of statistics, which may be large; and its number of rows."""
    from headatlas.atlas import notes
    from headatlas.atlas.stats_table import NAME, stats_parts, stats_rows

    if name == NAME:
        return stats_parts(atlas), stats_rows(atlas)
    content = notes.table(atlas) if name == notes.TABLE else atlas.table(name, of)
    return iter([content]), content.num_rows


def _write_parquet(parts: Iterator[Any]) -> None:
    import pyarrow.parquet as pq

    first = next(parts)
    with pq.ParquetWriter(sys.stdout.buffer, first.schema) as writer:
        for part in chain([first], parts):
            writer.write_table(part)


def write_csv(parts: Iterator[Any], file: TextIO) -> None:
    """Write standard CSV; lists in cells are written as JSON."""
    import csv

    writer = csv.writer(file, lineterminator="\n")
    for number, part in enumerate(parts):
        if number == 0:
            writer.writerow(part.column_names)
        for batch in part.to_batches(max_chunksize=4096):
            columns = [column.to_pylist() for column in batch.columns]
            for row in zip(*columns, strict=True):
                writer.writerow(
                    [json.dumps(cell, ensure_ascii=False) if isinstance(cell, list | dict) else cell for cell in row]
                )


def print_table(content: Any, most: int = 40, total: int | None = None) -> None:
    """Print the first rows and the columns that fit the terminal, and report what is omitted of `total` rows."""
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
    total = content.num_rows if total is None else total
    hidden = [f"{total - len(rows):,} more rows"] * (total > len(rows))
    hidden += [f"{len(content.schema) - count} more columns"] * (count < len(content.schema))
    if hidden:
        typer.echo(f"{' and '.join(hidden)}. For the whole table: --csv or --parquet", err=True)


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
