"""Readers of an atlas that others write: everything that can be read, as plain values."""

import hashlib
import sys

import pyarrow as pa

import headatlas as ha
from headatlas.atlas import schema
from headatlas.errors import HeadatlasError

FILES = ("encoder.npz", "fit.npz")


def read_all(path):
    """Everything that can be read: the header, every array, table and file of every result."""
    atlas = ha.open(path)
    values = {"header": atlas.header}
    for stage in schema.STAGES:
        for of in atlas.results(stage):
            values |= read_result(atlas, stage, of)
    values["parts"] = [table_bytes(part) for part in atlas.table_parts("examples")]
    return values


def read_result(atlas, stage, of):
    """Every array, table and file of a result."""
    declared, values = schema.STAGES[stage], {}
    for array in declared.arrays:
        if atlas.has_array(array.name, of):
            values[stage, of, array.name] = _array(atlas, array.name, of)
    for table in declared.tables:
        if atlas.has_table(table.name, of):
            content = atlas.table(table.name, of)
            values[stage, of, table.name] = table_bytes(content)
    for name in FILES:
        values[stage, of, name] = atlas.file(stage, name, of)
    return values


def _array(atlas, name, of):
    values = atlas.read(name, of=of)
    content = atlas.array(name, of)
    return content.shape, str(content.dtype), content.metadata.dimension_names, dict(content.attrs), values.tobytes()


def table_bytes(content):
    """A table as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, content.schema) as stream:
        stream.write_table(content.combine_chunks())
    return sink.getvalue().to_pybytes()


def read_finished(path):
    """Read everything that is finished; one line if there is nothing."""
    try:
        read_all(path)
    except HeadatlasError as error:
        sys.stderr.write(f"headatlas: {error}\n")
        return 1
    return 0


def digest(values):
    """Values of a result as a digest."""
    return hashlib.sha256(repr(sorted(values.items(), key=str)).encode()).hexdigest()[:16]
