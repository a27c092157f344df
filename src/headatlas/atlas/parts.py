"""Tables that are computed piece by piece: each block writes a part, and all parts are joined when the last is written.

A part is a Parquet file with its own manifest, so that a run that was stopped continues. When the tables are written,
the parts are deleted: the result does not depend on how often a run was stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headatlas.atlas import engine
from headatlas.atlas.writer import Writer, block_name

Tables = Mapping[str, pa.Table]
Join = Callable[[pa.Table], tuple[Tables, Mapping[str, Any]]]


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
    if result.pending([engine.TABLES]):
        engine.run_blocks(result, work, ranges, title, unit=unit)
        tables, facts = join(_read_parts(result, len(ranges)))
        files = [result.write_table(name, table) for name, table in tables.items()]
        result.write_manifest(engine.TABLES, files, facts)
    _delete_parts(result)
    manifest = result.manifest(engine.TABLES)
    assert manifest is not None  # written above, or before a stop
    result.finish(manifest["facts"])


def _name(number: int) -> str:
    return f"part-{number:06d}.parquet"


def _read_parts(result: engine.Result, count: int) -> pa.Table:
    files = result.atlas.files
    parts = [
        pq.read_table(pa.BufferReader(files.read(result.file(_name(number)))), page_checksum_verification=True)
        for number in range(count)
    ]
    return pa.concat_tables(parts).combine_chunks()


def _delete_parts(result: engine.Result) -> None:
    """Delete manifests first: one without its part would count as damaged."""
    for task in result.manifests():
        if task != engine.TABLES:
            result.delete_manifest(task)
    files = result.atlas.files
    for name in files.names(result.file("").rstrip("/")):
        if name.startswith("part-"):
            files.remove(result.file(name))
