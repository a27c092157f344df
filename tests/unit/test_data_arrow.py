"""Arrow IPC files and streams, and Feather files, as pyarrow and the datasets library write them."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import feather, ipc

from headatlas.data import Example, load
from headatlas.errors import DataError

ROWS = [{"id": f"r{n}", "text": f"row {n}, “ü”", "label": n % 3, "parts": [n, n + 1]} for n in range(3000)]
EXPECTED = [Example(row["id"], row["text"], columns={"label": row["label"], "parts": row["parts"]}) for row in ROWS]


def write(name, table, kind, compression=None, rows=700):
    options = ipc.IpcWriteOptions(compression=compression)
    new = ipc.new_file if kind == "file" else ipc.new_stream
    with pa.OSFile(name, "wb") as sink, new(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=rows)
    return name


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize("kind", ["file", "stream"])
def test_files_and_streams_give_the_same_examples(folder, kind, compression):
    dataset = load(write("x.arrow", pa.Table.from_pylist(ROWS), kind, compression))
    assert list(dataset) == EXPECTED
    assert list(dataset) == EXPECTED  # a second time
    assert next(iter(load("x.arrow", text_column="id", limit=1))).text == "r0"
    with pytest.raises(DataError, match=r"no column 'body'\. Its columns: id, text, label, parts"):
        list(load("x.arrow", text_column="body"))


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_feather(folder, compression):
    feather.write_feather(pa.Table.from_pylist(ROWS), "x.feather", compression=compression)
    assert list(load("x.feather")) == EXPECTED


def test_dictionary_columns_are_decoded(folder):
    table = pa.table({"text": ["one", "two", "one"], "kind": pa.array(["a", "b", "a"]).dictionary_encode()})
    assert [example.columns for example in load(write("x.arrow", table, "stream"))] == [
        {"kind": "a"}, {"kind": "b"}, {"kind": "a"},
    ]  # fmt: skip


def test_files_saved_by_the_datasets_library(folder):
    import datasets

    datasets.Dataset.from_list(ROWS).save_to_disk("saved")
    (file,) = Path("saved").glob("data-*.arrow")
    assert list(load(str(file))) == EXPECTED


def test_a_table_without_rows(folder):
    name = write("x.arrow", pa.table({"text": pa.array([], pa.string())}), "stream")
    with pytest.raises(DataError, match=r"x\.arrow has no examples"):
        list(load(name))


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_damaged_files_give_one_clear_line(folder, kind):
    content = Path(write("x.arrow", pa.Table.from_pylist(ROWS), kind)).read_bytes()
    for damaged in (b"", content[: len(content) // 2], b"no arrow at all, just text", content[:6]):
        Path("x.arrow").write_bytes(damaged)
        with pytest.raises(DataError, match=r"^x\.arrow cannot be read") as caught:
            list(load("x.arrow"))
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["file", "stream"])
@pytest.mark.parametrize("compression", [None, "zstd"])
def test_a_file_cut_anywhere_is_refused(folder, kind, compression):
    """Also between two batches, where a cut stream looks like a complete one."""
    content = Path(write("x.arrow", pa.Table.from_pylist(ROWS[:10]), kind, compression, rows=4)).read_bytes()
    for end in range(0, len(content), 4):
        Path("x.arrow").write_bytes(content[:end])
        with pytest.raises(DataError, match=r"^x\.arrow .*Check that it is ") as caught:
            list(load("x.arrow"))
        assert "\n" not in str(caught.value)


DAMAGE = """
import os, sys
from pathlib import Path
from headatlas.data import load
from headatlas.errors import DataError
content, refused = Path("x.arrow").read_bytes(), 0
for position in range(len(content)):
    damaged = bytearray(content)
    damaged[position] ^= 0xFF
    Path("damaged.arrow").write_bytes(damaged)
    try:
        list(load("damaged.arrow"))
    except DataError as error:
        refused += 1
        assert str(error).startswith("damaged.arrow") and "\\n" not in str(error), error
print(refused, flush=True)
os._exit(0)  # the library does not free what it holds of damaged files
"""


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_no_damaged_byte_crashes_the_process(folder, kind):
    """Each byte in turn, in a child process: unchecked offsets could point anywhere in memory."""
    write("x.arrow", pa.Table.from_pylist(ROWS[:10]), kind, rows=4)
    process = subprocess.run([sys.executable, "-c", DAMAGE], capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, process.stderr
    assert int(process.stdout) > 100


def test_old_feather_files_and_repeated_columns_give_one_clear_line(folder):
    Path("x.feather").write_bytes(b"FEA1" + bytes(64))
    with pytest.raises(DataError, match=r"^x\.feather is a Feather file of version 1\. Write it again"):
        list(load("x.feather"))
    table = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], ["text", "text"])
    with pytest.raises(DataError, match=r"^x\.arrow has more than one column 'text'\."):
        list(load(write("x.arrow", table, "file")))
