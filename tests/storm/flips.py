"""A storm over an atlas: single bytes change in random files, then everything is read through the public functions.

A changed byte is either named in one line, or has no effect on what is read.
"""

import random
import shutil
import traceback
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa

import headatlas as ha
from headatlas.atlas import check, engine, schema
from headatlas.errors import StoreError
from support.atlases import writer
from support.planted import drawn, planted


def make(path):
    """A small atlas with results of several stages; all its files have checksums."""
    preference = np.full((2, 3, 5), 0.02)
    for layer, head in np.ndindex(2, 3):
        preference[layer, head, (layer * 3 + head) % 5] = 1
    columns = {"topic": ["sea", "hill"] * 10, "parts": [["a", str(number)] for number in range(20)]}
    atlas = planted(path, drawn(preference, 20), columns=columns, block=8)
    seal(atlas)
    ha.features.image(atlas, "stats")
    ha.cluster.kmeans(atlas, k=4, of="planted")
    ha.correlate.clusters(atlas, permutations=9)
    ha.project.pca(atlas, of="planted")
    return ha.open(path)


def seal(atlas):
    """Give the tables of a planted collection checksums, as a real one has."""
    result = writer(atlas, "collect", "collect")
    tables = [schema.TABLES[name].path("") for name in ("examples", "heads", "layers")]
    result.write_manifest(engine.TABLES, tables)
    with atlas.editing():
        atlas.entries("collect")[0]["manifests"] = len(result.manifests())


def read_all(path):
    """Everything that can be read, as plain values: the header, every array and every table of every result."""
    atlas = ha.open(path)
    values = {"header": atlas.header}
    for stage, declared in schema.STAGES.items():
        for of in atlas.results(stage):
            for array in declared.arrays:
                if atlas.has_array(array.name, of):
                    values[stage, of, array.name] = _array(atlas, array.name, of)
            for table in declared.tables:
                if atlas.has_table(table.name, of):
                    content = atlas.table(table.name, of)
                    assert atlas.table_columns(table.name, of) == content.schema.names
                    values[stage, of, table.name] = _table(content)
            for name in ("encoder.npz", "fit.npz"):
                values[stage, of, name] = atlas.file(stage, name, of)
    values["parts"] = [_table(part) for part in atlas.table_parts("examples")]
    return values


def _array(atlas, name, of):
    content = atlas.array(name, of)
    values = atlas.read(name, of=of)
    return content.shape, str(content.dtype), content.metadata.dimension_names, dict(content.attrs), values.tobytes()


def _table(content):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, content.schema) as stream:
        stream.write_table(content.combine_chunks())
    return sink.getvalue().to_pybytes()


def outcome(path, before):
    """`named` or `no effect`; anything else is a failure and is described."""
    try:
        after = read_all(path)
    except StoreError as error:
        line = str(error)
        return "named" if line.isprintable() and "damaged" in line else f"not named as damage: {line!r}"
    except Exception:
        return traceback.format_exc()
    wrong = [key for key in before if after.get(key) != before[key]]
    return f"silently wrong: {wrong}" if wrong or len(after) != len(before) else "no effect"


def found(path):
    """Whether `headatlas check` finds damage."""
    try:
        return bool(check.damage(ha.open(path))[1])
    except StoreError:
        return True


def storm(folder, seed, cases):
    """Change single bytes of an atlas, one at a time; returns counts of outcomes and descriptions of failures."""
    path = Path(folder) / "x.atlas"
    make(path)
    before, counts, failures = read_all(path), Counter(), []
    files = sorted(file for file in path.rglob("*") if file.is_file())
    metadata = [file for file in files if file.name == "zarr.json"]
    tables = [file for file in files if file.suffix in (".parquet", ".npz")]
    for number in range(cases):
        rng = random.Random(f"{seed} {number}")
        file = rng.choice(rng.choice([files, metadata, tables, [path / "atlas.json"]]))  # most files are blocks
        content = file.read_bytes()
        at = rng.randrange(len(content))
        file.write_bytes(content[:at] + bytes([content[at] ^ rng.randint(1, 255)]) + content[at + 1 :])
        told = outcome(path, before)
        if told == "named" and not found(path):
            told = "named, but not found by check"
        if told not in ("named", "no effect"):
            failures.append(f"seed {seed}, case {number}, byte {at} of {file.relative_to(path)}: {told}")
            told = "failed"
        counts[told] += 1
        file.write_bytes(content)
    shutil.rmtree(path)
    return counts, failures
