"""Columns computed from a text, against values counted by hand, and where they are used."""

from pathlib import Path

import pyarrow as pa
import pytest

from headatlas.data.text_columns import TEXT_COLUMNS
from headatlas.errors import OptionError
from headatlas.stages.correlate import dataset_columns
from support.docs import assert_table
from support.planted import planted, replace_examples

COMPUTE = {column.name: column.compute for column in TEXT_COLUMNS}


def test_every_column_is_declared_completely_and_in_the_docs_table():
    rows = [f"| `{column.name}` | {column.definition} |" for column in TEXT_COLUMNS]
    page = Path(__file__).parents[2] / "docs" / "correlate.md"
    assert_table(page, "text-columns", ["| column | value |", "| --- | --- |", *rows])
    assert len(COMPUTE) == len(TEXT_COLUMNS)
    assert all(column.label and column.definition and column.name.isidentifier() for column in TEXT_COLUMNS)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("question", "Who? Me.", True), ("question", "Who, me.", False), ("question", "谁？", True),
        ("quotation", 'He said "no".', True), ("quotation", "«Non», dit-il.", True), ("quotation", "It's his.", False),
        ("digits", "Room 7", True), ("digits", "٣", True), ("digits", "Room seven", False),
        ("capitals", "AbCd 12", 0.5), ("capitals", "12 語", None), ("capitals", "ÄÖ", 1.0),
        ("repeated", "the cat and The dog", 0.2), ("repeated", "a b a b", 0.5), ("repeated", "…", None),
        ("punctuation", "a, b.", 0.5), ("punctuation", "ab", 0.0), ("punctuation", " \n", None),
        ("sentences", "One. Two! Three", 3.0), ("sentences", "e.g.3.5 is one", 1.0), ("sentences", "Why?! No.", 2.0),
        ("sentences", "no end", 1.0), ("sentences", "“Go.” He went.", 2.0),
        ("script", "дом house home", "Latin"), ("script", "дом и сад, ok", "Cyrillic"), ("script", "東京タ", "CJK"),
        ("script", "12 + 3", None), ("script", "ελ", "Greek"),
    ],
)  # fmt: skip
def test_values(name, text, value):
    assert COMPUTE[name](text) == value


def atlas_with(tmp_path, columns, examples=8):
    atlas = planted(tmp_path / "t.atlas", [[[0]]] * examples)
    replace_examples(atlas, columns)
    return atlas


def test_columns_of_the_dataset_come_first_and_win(tmp_path):
    texts = ["Who?", "You.", "Who is it?", "Me. And you.", "Is it 5?", "It is 6.", "7 or 8?", "Nine, nine."]
    columns = {"text": texts, "pair": ["No 5"] * 4 + [None] * 4, "digits": ["few", "many"] * 4, "n_tokens": range(8)}
    atlas = atlas_with(tmp_path, columns)
    read = {column.name: column for column in dataset_columns.read_columns(atlas, None)}
    assert list(read)[:2] == ["digits", "n_tokens"] and {"question", "repeated", "sentences"} <= {*read}
    assert "script" not in read and "quotation" not in read  # the same for all texts
    assert read["digits"].values == ("few", "many") and read["digits"].label == ""
    assert read["question"].codes.tolist() == [1, 0, 1, 0, 1, 0, 1, 0] and read["question"].label == "question marks"
    assert read["n_tokens"].binned and read["n_tokens"].label == "the number of tokens"
    (only,) = dataset_columns.read_columns(atlas, ["repeated"])
    assert only.name == "repeated" and only.codes.tolist()[-1] == only.codes.max()  # half of "nine, nine" is repeated
    with pytest.raises(OptionError, match=r"no column 'words'.*: digits, n_tokens, question, quotation, capitals"):
        dataset_columns.read_columns(atlas, ["words"])


def test_a_pair_counts_as_part_of_the_text(tmp_path):
    columns = {"text": ["Who?"] * 8, "pair": ["In 1990."] * 3 + ["In May."] * 5}
    (digits,) = dataset_columns.read_columns(atlas_with(tmp_path, columns), ["digits"])
    assert digits.codes.tolist() == [1] * 3 + [0] * 5


def test_images_have_no_such_columns(tmp_path):
    atlas = atlas_with(tmp_path, {"text": pa.nulls(8, pa.string()), "kind": list("abababab")})
    atlas.header["data"]["modality"] = "image"
    assert [column.name for column in dataset_columns.read_columns(atlas, None)] == ["kind"]
