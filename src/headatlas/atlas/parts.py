"""Tables that are computed piece by piece: each block writes a part, and all parts are joined when the last is written.

A part is a Parquet file with its own manifest, so that a run that was stopped continues. When the tables are written,
the parts are deleted: the result does not depend on how often a run was stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headatlas.atlas import engine
from headatlas.atlas.writer import Writer, block_name

Tables = Mapping[str, pa.Table]
Joined = tuple[Tables, Mapping[str, Any]]
Join = Callable[[pa.Table], Joined]
JoinParts = Callable[[Iterable[pa.Table]], Joined]


def write_part(writer: Writer, number: int, table: pa.Table) -> None:
    """Write the part of one block, and its manifest."""
    buffer = pa.BufferOutputStream()
    pq.write_table(table, buffer, compression="zstd", write_page_checksum=True)
    writer.write_manifest(block_name(number), [writer.write_file(_name(number), buffer.getvalue().to_pybytes())])


def run(
    result: engine.Result, work: Callable[[int], int], ranges: Sequence[range], title: str, join: Join, *, unit: str
) -> None:
    """Run a function over the numbers of all blocks that are pending, in threads; then finish the result.

    Parameters
    ----------
    result
        A result that is not finished.
    work
        Calls `write_part` for a block, and returns the number of units done.
    ranges
        The units of each block.
    title, unit
        Labels of the progress bar.
    join
        Returns the tables of the result, and its facts, from the rows of all parts in the order of the blocks.
    """
    run_streamed(result, work, ranges, title, lambda tables: join(whole(tables)), unit=unit)


def run_streamed(
    result: engine.Result,
    work: Callable[[int], int],
    ranges: Sequence[range],
    title: str,
    join_parts: JoinParts,
    *,
    unit: str,
    write_arrays: Callable[[], Sequence[str]] = list,
) -> None:
    """As `run`, with parts that may be too large for memory together: `join_parts` reads them one at a time.

    `write_arrays` writes whole arrays of the result, and returns the files that hold their blocks.
    """
    if result.pending([engine.TABLES]):
        engine.run_blocks(result, work, ranges, title, unit=unit)
        tables, facts = join_parts(read_parts(result, range(len(ranges))))
        files = [result.write_table(name, table) for name, table in tables.items()]
        files += write_arrays()
        result.write_manifest(engine.TABLES, files, facts)
    _delete_parts(result)
    manifest = result.manifest(engine.TABLES)
    assert manifest is not None  # written above, or before a stop
    result.finish(manifest["facts"])


def _name(number: int) -> str:
    return f"part-{number:06d}.parquet"


def whole(tables: Iterable[pa.Table]) -> pa.Table:
    """All parts as one table."""
    return pa.concat_tables(tables).combine_chunks()


def read_parts(result: engine.Result, numbers: Iterable[int]) -> Iterator[pa.Table]:
    """The parts of some blocks, one at a time."""
    for number in numbers:
        stored = result.atlas.files.read(result.file(_name(number)))
        yield pq.read_table(pa.BufferReader(stored), page_checksum_verification=True)


def _delete_parts(result: engine.Result) -> None:
    """Delete manifests first: one without its part would count as damaged."""
    for task in result.manifests():
        if task != engine.TABLES:
            result.delete_manifest(task)
    files = result.atlas.files
    for name in files.names(result.file("").rstrip("/")):
        if name.startswith("part-"):
            files.remove(result.file(name))
