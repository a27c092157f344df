"""Tables and lists in memory: every kind that `load` accepts gives the same examples as a file."""

import json
import pickle
from pathlib import Path

import datasets
import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest

from headatlas.data import Example, load
from headatlas.errors import DataError, OptionError
from headatlas.stages import collect

pytestmark = pytest.mark.usefixtures("folder")

ROWS = [
    {"key": "a", "review": "A fine film.", "answer": "Yes.", "stars": 4, "tags": ["long", "old"]},
    {"key": "b", "review": "A dull one.", "answer": "No.", "stars": None, "tags": []},
]
COLUMNS = {name: [row[name] for row in ROWS] for name in ROWS[0]}


class Exported:
    """Named columns in another library that exports Arrow data, as polars and duckdb do."""

    columns = tuple(COLUMNS)

    def __arrow_c_stream__(self, requested_schema=None):
        return pyarrow.table(COLUMNS).__arrow_c_stream__(requested_schema)


KINDS = {
    "pandas": lambda: pd.DataFrame(COLUMNS).astype({"stars": "Int64"}),
    "polars": lambda: polars.DataFrame(COLUMNS),
    "exported": Exported,
    "pyarrow": lambda: pyarrow.table(COLUMNS),
    "batch": lambda: pyarrow.record_batch(COLUMNS),
    "datasets": lambda: datasets.Dataset.from_dict(COLUMNS),
    "formatted": lambda: datasets.Dataset.from_dict(COLUMNS).with_format("numpy"),
    "dict": lambda: COLUMNS,
    "arrays": lambda: COLUMNS | {"review": pd.Series(COLUMNS["review"]), "answer": pyarrow.array(COLUMNS["answer"])},
    "dicts": lambda: ROWS,
    "generator": lambda: (row for row in ROWS),
    "streamed": lambda: datasets.Dataset.from_dict(COLUMNS).to_iterable_dataset(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_gives_the_same_examples_as_a_file(kind):
    Path("x.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    dataset = pickle.loads(pickle.dumps(load(KINDS[kind](), pair_column="answer")))
    assert list(dataset) == list(dataset) == list(load("x.jsonl", pair_column="answer"))
    assert dataset.name == "memory"
    assert dataset.fingerprint == load(KINDS["dict"](), pair_column="answer").fingerprint
    assert [example.text for example in load(KINDS[kind](), text_column="key", limit=1)] == ["a"]


def test_the_fingerprint_of_a_table_follows_its_columns_and_values():
    frame = pd.DataFrame(COLUMNS)
    changed = frame.assign(stars=[5, 5])
    loaded = [load(frame), load(frame, text_column="key"), load(frame, pair_column="key"), load(changed)]
    assert len({dataset.fingerprint for dataset in loaded}) == 4


def test_a_later_change_of_a_frame_does_not_change_the_dataset():
    frame, rows = pd.DataFrame(COLUMNS), [dict(row) for row in ROWS]
    loaded, listed = load(frame), load(rows)
    frame.loc[0, "review"] = rows[0]["review"] = "Changed."
    assert next(iter(loaded)).text == next(iter(listed)).text == "A fine film."


def test_values_of_a_frame_become_plain_values():
    frame = pd.DataFrame(
        {
            "text": ["one", None, "three"],
            "id": [7, 8, 9],
            "share": [0.5, np.nan, 1.0],
            "when": pd.to_datetime(["2024-01-02", None, "2024-01-04"]),
            "kind": pd.Categorical(["x", "y", None]),
            "vector": [np.array([1, 2]), np.array([3]), None],
            1: [True, False, True],
        },
        index=[5, 5, 6],
    )
    dataset = load(frame)
    first, last = dataset
    assert [first.id, last.id, dataset.skipped[0].id, dataset.skipped[0].reason] == ["7", "9", "8", "empty text"]
    assert first.columns == {
        "share": 0.5, "when": pd.Timestamp("2024-01-02"), "kind": "x", "vector": [1, 2], "1": True,
    }  # fmt: skip
    assert (last.columns["kind"], last.columns["vector"]) == (None, None)


def test_pairs_are_a_text_and_its_pair():
    assert list(load([("Who?", "Ann."), ["Where?", "Here."], "Alone."])) == [
        Example("0", text="Who?", pair="Ann."),
        Example("1", text="Where?", pair="Here."),
        Example("2", text="Alone."),
    ]


def test_a_path_is_a_name():
    Path("x.txt").write_text("one\n")
    assert [example.text for example in load(Path("x.txt"))] == ["one"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (7, r"cannot be made from int\. Pass a name; a pandas or polars DataFrame, .* Example objects\."),
        (b"text", "cannot be made from bytes. Pass"),
        ({"one", "two"}, "cannot be made from set. Pass"),
        (np.zeros((2, 2)), "Item 0 is ndarray, not text. Pass"),
        ([("a", "b", "c")], r"Item 0 is tuple \(str, str, str\), not text"),
        ([["a", 1]], r"Item 0 is list \(str, int\), not text"),
        ({"text": "one"}, "Column 'text' of dict is str, not a list with a value per example"),
        ({"text": ["one"], "label": [1, 2]}, r"differ in length \(text 1, label 2\)"),
        (datasets.DatasetDict(train=datasets.Dataset.from_dict(COLUMNS)), r"split\. Choose one: data\['train'\]"),
        (pd.DataFrame([["a", "b"]], columns=["text", "text"]), "DataFrame has more than one column 'text'"),
        (pd.DataFrame({"body": ["a"]}), r"DataFrame has no column that is known to be text\. .*text_column='body'"),
        ([{"body": "a"}], "known to be text. Its columns: body"),
        ([{"text": "a"}, "b"], "Item 0 is dict, not text"),
    ],
)  # fmt: skip
def test_other_data_is_refused(data, message):
    with pytest.raises(DataError, match=message) as error:
        load(data)
    assert "\n" not in str(error.value)


def test_columns_are_for_tables():
    with pytest.raises(OptionError, match="for tables"):
        load(["a", "b"], text_column="text")
    with pytest.raises(OptionError, match="for tables"):
        load(load(["a"]), text_column="text")


def test_a_frame_is_collected_with_its_columns():
    frame = pd.DataFrame({"text": ["The cat sat.", "It slept."], "label": ["cat", "it"], "when": [1.5, np.nan]})
    atlas = collect.maps("packaged", frame, "memory://frame.atlas", qk_tokens=0)
    table = atlas.table("examples").to_pandas()
    assert table["text"].tolist() == ["The cat sat.", "It slept."]
    assert table["label"].tolist() == ["cat", "it"]
    assert table["when"].isna().tolist() == [False, True]
