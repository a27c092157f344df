"""The table of statistics: one row per map, the same in Python and on the command line."""

import io
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headatlas.cli import app
from headatlas.errors import OptionError
from support.atlases import writer
from support.planted import STATS, planted

EXAMPLES, LAYERS, HEADS, MISSING = 20, 3, 4, (2, 3)


@pytest.fixture(scope="module")
def atlas(tmp_path_factory):
    """Two blocks of examples, a head that does not exist, and a column with the name of a statistic."""
    columns = {"topic": ["a", "b"] * 10, "previous": np.arange(20.0), "tags": [["x"], []] * 10}
    patterns = np.arange(EXAMPLES * LAYERS * HEADS).reshape(EXAMPLES, LAYERS, HEADS) % 5
    atlas = planted(tmp_path_factory.mktemp("stats") / "a.atlas", patterns, missing=[MISSING], columns=columns)
    rows = [{"layer": i, "head": h} for i, h in np.ndindex(LAYERS, HEADS) if (i, h) != MISSING]
    writer(atlas, "collect", "collect").write_table("heads", pa.Table.from_pylist(rows))
    return atlas


def run(*arguments):
    with pytest.raises(SystemExit) as end:
        app(list(arguments))
    return end.value.code or 0


def test_there_is_one_row_per_map_with_every_statistic_and_column(atlas):
    frame, stats = atlas.stats(), atlas.read("stats")
    assert list(frame) == [
        "example", "id", "layer", "head", *STATS, "n_tokens", "topic", "data_previous", "tags",
    ]  # fmt: skip
    assert len(frame) == EXAMPLES * (LAYERS * HEADS - 1)
    places = frame[["example", "layer", "head"]].to_numpy().T
    assert np.array_equal(frame[STATS].to_numpy(), stats[tuple(places)])
    assert not ((frame.layer == MISSING[0]) & (frame["head"] == MISSING[1])).any()
    assert frame.groupby("example")["topic"].first().tolist() == ["a", "b"] * 10
    assert frame.groupby("example")["data_previous"].first().tolist() == list(range(20))


def test_layers_and_examples_can_be_chosen(atlas):
    frame = atlas.stats(layers=1, examples=[17, 3])
    whole = atlas.stats()
    expected = whole[(whole.layer == 1) & whole.example.isin([3, 17])].reset_index(drop=True)
    pd.testing.assert_frame_equal(frame, expected)
    with pytest.raises(OptionError, match="layers 3: choose from 0 to 2"):
        atlas.stats(layers=[0, 3])
    with pytest.raises(OptionError, match="examples none: choose from 0 to 19"):
        atlas.stats(examples=[])


def test_the_command_writes_the_same_table(atlas, capsys, monkeypatch):
    assert run("table", atlas.files.url, "stats", "--csv") == 0
    written = pd.read_csv(io.StringIO(capsys.readouterr().out), dtype={"id": str})
    pd.testing.assert_frame_equal(written.drop(columns="tags"), atlas.stats().drop(columns="tags"), check_dtype=False)
    stream = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", stream)
    assert run("table", atlas.files.url, "stats", "--parquet") == 0
    table = pq.read_table(io.BytesIO(stream.buffer.getvalue()))
    pd.testing.assert_frame_equal(table.to_pandas(), atlas.stats())


def test_the_command_prints_the_first_rows(atlas, capsys):
    assert run("table", atlas.files.url, "stats") == 0
    printed = capsys.readouterr()
    assert "previous" in printed.out
    assert "180 more rows. For the whole table: --csv or --parquet" in printed.err
    assert run("table", atlas.files.url, "stats", "--of", "x") == 1
    assert "there is only one table stats" in capsys.readouterr().err
