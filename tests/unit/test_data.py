"""Every reader on real files, every error it can give, and the facts of the sample corpus."""

import csv
import gzip
import io
import json
import pickle
import re
import subprocess
import sys
from pathlib import Path

import fsspec
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from headatlas.data import Dataset, Example, Skipped, Window, load
from headatlas.data.specs import READERS
from headatlas.errors import DataError, OptionError
from support.small_files import picture, texts, write

pytestmark = pytest.mark.usefixtures("folder")


# --- the dataset itself


def test_strings_in_memory_are_numbered_and_named():
    dataset = load(text for text in ["one", "two"])
    assert list(dataset) == list(dataset) == [Example("0", text="one"), Example("1", text="two")]
    assert (dataset.name, dataset.modality, dataset.window) == ("memory", "text", None)


def test_examples_in_memory_pass_unchanged():
    examples = [Example("a", text="x", pair="y", columns={"label": 1})]
    assert list(load(examples)) == examples


def test_images_in_memory_are_checked():
    picture("a.png")
    write("b.png", b"")
    dataset = load([Example("a", image="a.png"), Example("b", image="b.png"), Example("c", image="c.png")])
    assert dataset.modality == "image"
    assert [example.id for example in dataset] == ["a"]
    assert dataset.skipped == [Skipped("b", "zero bytes"), Skipped("c", "missing")]


def test_a_dataset_passes_through_and_takes_the_smaller_limit():
    dataset = load("sample:questions")
    assert load(dataset) is dataset
    assert len(list(load(load(dataset, limit=5), limit=3))) == len(list(load(load(dataset, limit=3), limit=5))) == 3
    assert load(dataset, limit=3).window == Window(384, 128)


def test_limit_stops_reading_and_closes_the_source():
    events = []

    class Endless:
        def read(self):
            try:
                while True:
                    events.append(len(events))
                    yield Example(str(len(events)), text="x")
            finally:
                events.append("closed")

    assert len(list(Dataset("endless", Endless(), limit=2))) == 2
    assert events == [0, 1, "closed"]


def test_limit_does_not_reach_later_errors_of_a_file():
    write("x.jsonl", '{"text": "a"}\n{"text": "b"}\nbroken')
    assert len(list(load("x.jsonl", limit=2))) == 2


def test_skipped_lists_only_the_last_iteration():
    dataset = load(["a", " \n", "", "b\ud800"])
    for _ in range(2):
        assert [example.text for example in dataset] == ["a"]
        assert [item.reason for item in dataset.skipped] == [
            "empty text",
            "empty text",
            "half a surrogate pair in the text",
        ]


def test_nothing_usable_is_an_error_that_counts_what_was_skipped():
    with pytest.raises(DataError, match=r"memory has no examples \(2 skipped: 2 × empty text\)\. Check"):
        list(load(["", " "]))


def test_a_dataset_can_be_sent_to_another_process():
    dataset = load(write("x.txt", "a\nb"), limit=1)
    copy = pickle.loads(pickle.dumps(dataset))
    assert list(copy) == list(dataset) and copy.fingerprint == dataset.fingerprint


def test_fingerprint_follows_content_and_options_but_not_the_path():
    write("a.jsonl", '{"text": "a", "b": "c"}')
    write("sub/copy.jsonl", '{"text": "a", "b": "c"}')
    prints = [
        load("a.jsonl").fingerprint,
        load("a.jsonl", limit=1).fingerprint,
        load("a.jsonl", text_column="b").fingerprint,
        load("a.jsonl", pair_column="b").fingerprint,
        load("sample").fingerprint,
        load("sample:questions").fingerprint,
        load(["a"]).fingerprint,
        load([Example("0", text="a", columns={"b": "c"})]).fingerprint,
    ]
    assert len(set(prints)) == len(prints)
    assert all(re.fullmatch("[0-9a-f]{64}", fingerprint) for fingerprint in prints)
    assert load("sub/copy.jsonl").fingerprint == prints[0]
    write("a.jsonl", '{"text": "A", "b": "c"}')
    assert load("a.jsonl").fingerprint != prints[0]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: load("sample", limit=0), OptionError, "limit is 0, but at least 1"),
        (lambda: load("sample", text_column="title"), OptionError, "sample has fixed columns"),
        (lambda: load(["a"], pair_column="b"), OptionError, "are for tables"),
        (lambda: load("x.csv", text_column="a", pair_column="a"), OptionError, "both 'a'"),
        (lambda: load([1]), DataError, "Item 0 is int, not text"),
        (lambda: load(7), DataError, "made from int"),
        (lambda: load([Example("a", text="a"), Example("b", image="b")]), DataError, "two datasets"),
        (lambda: load("missing.txt"), DataError, "missing.txt is missing"),
        (lambda: load("squad:."), DataError, ". is a folder"),
        (lambda: load("nowhere://x.txt"), DataError, "cannot be reached: Protocol not known"),
        (lambda: load("images:missing"), DataError, "missing is missing"),
        (lambda: Window(0), OptionError, "is empty"),
        (lambda: Window(8, 8), OptionError, "from 0 to 7"),
    ],
)
def test_errors_are_raised_before_anything_is_read(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("spec", ["book.docx", "squad:", "squad", "", "sample:answers", ".txt"])
def test_an_unknown_form_lists_the_known_ones(spec):
    with pytest.raises(DataError) as caught:
        load(spec)
    assert all(reader.form in str(caught.value) for reader in READERS.values())


def test_importing_loads_nothing_heavy():
    heavy = ["torch", "transformers", "dask", "datasets", "conllu", "pyarrow", "PIL", "fsspec"]
    code = f"import sys, headatlas.data; sys.exit(', '.join(m for m in {heavy} if m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True).stderr.strip() == ""


# --- text


def test_lines_keep_their_numbers_and_their_spaces():
    assert texts(write("x.txt", "one \n\n  \n two\r\nthree")) == [("1", "one "), ("4", " two"), ("5", "three")]


def test_paragraphs_are_joined_lines():
    write("x.txt", "\none\n two \n\n\nthree\n")
    assert texts("paragraphs:x.txt") == [("2", "one two"), ("6", "three")]


def test_compressed_files_addresses_and_byte_order_marks_are_read():
    data = "\ufeffçava\n".encode()
    fsspec.filesystem("memory").pipe("/marked.txt", data)
    assert (
        texts(write("x.txt.gz", gzip.compress(data)))
        == texts(write("X.TXT", data))
        == texts("memory://marked.txt")
        == texts("paragraphs:memory://marked.txt")
        == [("1", "çava")]
    )


@pytest.mark.parametrize("spec", ["x.txt", "paragraphs:x.txt", "x.jsonl", "x.csv", "x.tsv", "squad:x", "conllu:x"])
def test_files_that_are_not_utf8_name_the_line_and_the_fix(spec):
    name = write(spec.split(":")[-1], "text\nab\ncaf\xe9\n".encode("latin1"))
    if spec == "x.jsonl":
        write(name, '{"text": "a"}\n\n"caf\xe9"'.encode("latin1"))
    with pytest.raises(DataError, match=rf"{name} is not UTF-8: line 3, byte [45] of it is 0xe9.* iconv -f latin1"):
        list(load(spec))


def test_bytes_that_are_not_utf8_are_found_in_columns_that_are_not_text():
    write("x.csv", b"text,note\na,b\nc,\xe9\n")
    with pytest.raises(DataError, match="line 3, byte 3 of it is 0xe9"):
        list(load("x.csv"))


@pytest.mark.parametrize("spec", ["x.txt", "paragraphs:x.txt", "x.jsonl", "x.csv", "x.tsv", "conllu:x.conllu"])
def test_empty_files_have_no_examples(spec):
    write(spec.split(":")[-1], "\n \n" if "." in spec and "sv" not in spec else "")
    with pytest.raises(DataError, match="has no examples"):
        list(load(spec))


@pytest.mark.parametrize("content", [b"no gzip", gzip.compress(b"text " * 99)[:-9]], ids=["no gzip", "cut off"])
def test_damaged_archives_are_errors(content):
    with pytest.raises(DataError, match=r"x\.txt\.gz cannot be read: .* Check that it is complete"):
        list(load(write("x.txt.gz", content)))


# --- tables


ROWS = [{"id": "a", "text": "one", "label": 1}, {"id": "b", "text": "two, too", "label": 2}]


def table(name):
    if name.endswith("parquet"):
        parquet.write_table(pyarrow.Table.from_pylist(ROWS), name)
    elif name.endswith("jsonl"):
        write(name, "\n".join(map(json.dumps, ROWS)))
    else:
        separator = "\t" if name.endswith("tsv") else ","
        with Path(name).open("w", newline="") as stream:
            writer = csv.DictWriter(stream, ROWS[0], delimiter=separator)
            writer.writeheader()
            writer.writerows(ROWS)
    return name


@pytest.mark.parametrize("name", ["x.jsonl", "x.csv", "x.tsv", "x.parquet"])
def test_tables_of_all_formats_give_the_same_examples(name):
    dataset = load(table(name))
    expected = [Example(row["id"], text=row["text"], columns={"label": row["label"]}) for row in ROWS]
    assert list(dataset) == list(dataset) == expected
    assert [example.pair for example in load(name, pair_column="id")] == ["a", "b"]
    assert texts(name, text_column="id") == [("0", "a"), ("1", "b")]
    with pytest.raises(DataError, match=r"no column 'body'\. Its columns: id, text, label"):
        list(load(name, text_column="body"))
    with pytest.raises(DataError, match=r"known to be text\. Its columns: .*text_column='id'"):
        list(load(name, pair_column="text"))
    if name != "x.csv" and name != "x.tsv":
        with pytest.raises(DataError, match="example a: column 'label' contains int, not text"):
            list(load(name, text_column="label"))


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3))


@given(st.lists(st.tuples(st.text(st.characters(exclude_categories=["Cs"])), JSON), min_size=1), st.booleans())
def test_json_lines_are_read_as_they_were_written(rows, escaped):
    lines = [json.dumps({"text": text, "more": more}, ensure_ascii=escaped) for text, more in [("first", 0), *rows]]
    # A lone surrogate in another column can only be written as an escape.
    fsspec.filesystem("memory").pipe("/x.jsonl", "\n".join(lines).encode(errors="replace"))
    dataset = load("memory://x.jsonl")
    read = {example.id: example.text for example in dataset}
    expected = ["first", *(text for text, _ in rows)]
    assert read == {str(n): text for n, text in enumerate(expected) if text.strip()}
    assert len(read) + len(dataset.skipped) == len(expected)


CELL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@given(st.lists(st.tuples(CELL, CELL, st.integers(-(2**60), 2**60)), min_size=1))
def test_csv_is_read_as_it_was_written(rows):
    stream = io.StringIO(newline="")
    csv.writer(stream).writerows([("id", "text", "number"), ("start", "first", 0), *rows])
    fsspec.filesystem("memory").pipe("/x.csv", stream.getvalue().encode())
    read = [(example.id, example.text, example.columns["number"]) for example in load("memory://x.csv")]
    assert read == [("start", "first", 0), *(row for row in rows if row[1].strip())]


def test_numbers_and_gaps_in_the_text_of_a_csv_stay_as_they_are():
    write("x.csv", 'id,text,size,when\n007,1.0,1.5,2024-02-01\n8,NA,NA,\n9,"",2,\n')
    dataset = load("x.csv")
    assert [(example.id, example.text, example.columns["size"]) for example in dataset] == [
        ("007", "1.0", 1.5),
        ("8", "NA", None),
    ]
    assert dataset.skipped == [Skipped("9", "empty text")]


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["12345678901234567890", "2", ""], ["12345678901234567890", "2", None]),
        (["1.5", " 9007199254740993 ", "NA"], ["1.5", "9007199254740993", None]),
        (["9223372036854775807", "-1", ""], [9223372036854775807, -1, None]),
        (["1.5", "123456789012345", "nan"], [1.5, 123456789012345.0, None]),
        (["1.25", "-inf", "1e300"], [1.25, float("-inf"), 1e300]),
    ],
)
def test_an_integer_of_a_csv_that_a_float_would_change_stays_text(cells, values):
    write("x.csv", "text,n,rest\n" + "".join(f"a,{cell},1.5\n" for cell in cells))
    assert [example.columns for example in load("x.csv")] == [{"n": value, "rest": 1.5} for value in values]


def test_a_quotation_mark_in_a_tsv_is_a_character():
    assert texts(write("x.tsv", 'text\tn\n"tis\t1\n"so" he said\t2\n')) == [("0", '"tis'), ("1", '"so" he said')]


def test_tables_without_a_row_of_names():
    dataset = load(write("x.tsv", "a fine film\t1\na dull one\t0\n"))
    assert [(example.text, dict(example.columns)) for example in dataset] == [
        ("a fine film", {"column_2": 1}),
        ("a dull one", {"column_2": 0}),
    ]
    write("pairs.tsv", "ein\tone\t1\nein\tein\t2\n")
    with pytest.raises(DataError, match=r"more than one text column: column_1, column_2\. Choose"):
        list(load("pairs.tsv"))
    assert next(iter(load("pairs.tsv", pair_column="column_2"))).pair == "one"
    assert texts("pairs.tsv", text_column="column_2")[1] == ("1", "ein")


def test_column_names_ignore_case_and_rows_may_be_nested():
    write("x.jsonl", '{"ID": 5, "Text": "a", "more": {"b": [1, {"c": null}]}}\n\n{"ID": null, "Text": "d"}')
    assert list(load("x.jsonl")) == [
        Example("5", text="a", columns={"more": {"b": [1, {"c": None}]}}),
        Example("1", text="d"),
    ]


def test_rows_that_lack_text_or_pair_are_skipped():
    write("x.jsonl", '{"text": "a", "to": "b"}\n{"to": "c"}\n{"text": "d", "to": null}\n{"text": null, "to": "e"}')
    dataset = load("x.jsonl", pair_column="to")
    assert list(dataset) == [Example("0", text="a", pair="b")]
    assert [item.reason for item in dataset.skipped] == ["no column 'text'", "empty pair", "empty text"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.jsonl", '{"text": "a"}\n{"text": }', r"not valid JSON \(line 2, column 10: Expecting value\)"),
        ("x.jsonl", '{"text": "a"}\n["b"]', "line 2: a list, not an object"),
        ("x.jsonl", '{"text": "a"}\n' + "[" * 200_000, "nested too deeply, at line 2"),
        ("x.csv", "text,n\na,1\nb\n", "Row #3: Expected 2 columns, got 1.*Fix that row"),
        ("x.tsv", 'text\tn\n"a\nb"\t2\n', "Values in .tsv files are not quoted"),
        ("x.csv", "text,n,n\na,1,2\n", "more than one column 'n'"),
        ("x.csv", '"' + "a" * 200_000, "field larger than field limit.*in its first row"),
        ("x.parquet", "PAR1", "cannot be read as Parquet"),
    ],
    ids=lambda value: value[:20],
)
def test_invalid_tables_say_where(name, content, message):
    with pytest.raises(DataError, match=message):
        for _ in load(write(name, content)):
            pass


def test_a_column_whose_type_changes_late_is_an_error(monkeypatch):
    monkeypatch.setattr("headatlas.data.readers.tabular.BLOCK", 64)
    rows = iter(load(write("x.csv", "text,n\n" + "a,1\n" * 99 + "a,b\n")))
    assert next(rows).columns == {"n": 1}
    with pytest.raises(DataError, match=r"Row #101: .*invalid value 'b'.* save it as \.jsonl or \.parquet"):
        list(rows)
    for late in ("b", "9" * 40):
        rows = iter(load(write("x.csv", "text,n,m\n" + "a,1,0.5\n" * 99 + f"a,{late},b\n")))
        with pytest.raises(DataError, match=r"save it as \.jsonl or \.parquet"):
            list(rows)
