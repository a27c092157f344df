"""Arrow IPC files and streams, and Feather files, as pyarrow and the datasets library write them."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import feather, ipc

from headatlas.data import Example, load
from headatlas.errors import DataError

ROWS = [{"id": f"r{n}", "text": f"row {n}, “ü”", "label": n % 3, "parts": [n, n + 1]} for n in range(3000)]
EXPECTED = [Example(row["id"], row["text"], columns={"label": row["label"], "parts": row["parts"]}) for row in ROWS]


def write(name, table, kind, compression=None):
    options = ipc.IpcWriteOptions(compression=compression)
    new = ipc.new_file if kind == "file" else ipc.new_stream
    with pa.OSFile(name, "wb") as sink, new(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=700)
    return name


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize("kind", ["file", "stream"])
def test_files_and_streams_read_alike(folder, kind, compression):
    dataset = load(write("x.arrow", pa.Table.from_pylist(ROWS), kind, compression))
    assert list(dataset) == EXPECTED
    assert list(dataset) == EXPECTED  # again
    assert next(iter(load("x.arrow", text_column="id", limit=1))).text == "r0"
    with pytest.raises(DataError, match=r"no column 'body'\. Its columns: id, text, label, parts"):
        list(load("x.arrow", text_column="body"))


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_feather(folder, compression):
    feather.write_feather(pa.Table.from_pylist(ROWS), "x.feather", compression=compression)
    assert list(load("x.feather")) == EXPECTED


def test_dictionary_columns_are_written_out(folder):
    table = pa.table({"text": ["one", "two", "one"], "kind": pa.array(["a", "b", "a"]).dictionary_encode()})
    assert [example.columns for example in load(write("x.arrow", table, "stream"))] == [
        {"kind": "a"}, {"kind": "b"}, {"kind": "a"},
    ]  # fmt: skip


def test_what_the_datasets_library_saves(folder):
    datasets = pytest.importorskip("datasets")
    datasets.Dataset.from_list(ROWS).save_to_disk("saved")
    (file,) = Path("saved").glob("data-*.arrow")
    assert list(load(str(file))) == EXPECTED


def test_a_table_without_rows(folder):
    name = write("x.arrow", pa.table({"text": pa.array([], pa.string())}), "stream")
    with pytest.raises(DataError, match=r"x\.arrow has no examples"):
        list(load(name))


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_damaged_files_are_one_clear_line(folder, kind):
    content = Path(write("x.arrow", pa.Table.from_pylist(ROWS), kind)).read_bytes()
    for damaged in (b"", content[: len(content) // 2], b"no arrow at all, just text", content[:6]):
        Path("x.arrow").write_bytes(damaged)
        with pytest.raises(DataError, match=r"^x\.arrow cannot be read") as told:
            list(load("x.arrow"))
        assert "\n" not in str(told.value)
