"""Notes of a person: a file beside the atlas that is written completely or not at all, and never over another."""

import json
import multiprocessing
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

import headatlas as ha
from headatlas import cluster, correlate
from headatlas.atlas import notes
from headatlas.atlas.annotations import HeadNote, PatternNote, SavedSelection
from headatlas.atlas.files import Files
from headatlas.cli import app
from headatlas.errors import OptionError, StoreError
from support.planted import drawn, planted

RUNNER = CliRunner()


@pytest.fixture
def atlas(tmp_path):
    preference = np.full((2, 3, 5), 0.02)
    for layer, head in np.ndindex(2, 3):
        preference[layer, head, (layer * 3 + head) % 5] = 1
    atlas = planted(tmp_path / "x.atlas", drawn(preference, 20), block=8)
    cluster.kmeans(atlas, k=3)
    return atlas


def key(atlas, name="kmeans"):
    return atlas.results("cluster")[name]["key"]


def digest(folder):
    return {file: file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def test_notes_are_beside_the_atlas_and_nothing_else_changes(atlas, tmp_path):
    before = digest(tmp_path / "x.atlas")
    notes.edit(atlas.files, 0, HeadNote(layer=0, head=2, name=" looks back ", note="one\r\ntwo"))
    notes.edit(atlas.files, 1, PatternNote(clustering="kmeans", key=key(atlas), pattern=1, name="mine"))
    notes.edit(atlas.files, 2, SavedSelection(name="odd", maps=[(3, 0, 1), (4, 1, 2)]))
    assert digest(tmp_path / "x.atlas") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.atlas", "x.atlas.notes.json"]
    stored = json.loads((tmp_path / "x.atlas.notes.json").read_text())
    assert (stored["kind"], stored["version"], stored["revision"]) == ("headatlas.notes", 1, 3)
    held = ha.open(tmp_path / "x.atlas").notes()
    assert held["heads"] == [{"layer": 0, "head": 2, "name": "looks back", "note": "one\ntwo"}]
    assert held["patterns"][0]["name"] == "mine" and held["patterns"][0]["current"]
    assert held["selections"][0]["maps"] == [(3, 0, 1), (4, 1, 2)]


def test_an_empty_entry_removes_and_another_replaces(atlas):
    notes.edit(atlas.files, 0, HeadNote(layer=1, head=0, name="b"))
    notes.edit(atlas.files, 1, HeadNote(layer=0, head=0, name="a"))
    notes.edit(atlas.files, 2, HeadNote(layer=1, head=0, name="c"))
    assert [(entry.layer, entry.name) for entry in notes.read(atlas.files).heads] == [(0, "a"), (1, "c")]
    notes.edit(atlas.files, 3, HeadNote(layer=0, head=0))
    notes.edit(atlas.files, 4, SavedSelection(name="s", heads=[(0, 1)]))
    changed = notes.edit(atlas.files, 5, SavedSelection(name="s"))
    assert [entry.layer for entry in changed.heads] == [1] and not changed.selections and changed.revision == 6


def test_names_stay_with_the_recipe_of_a_clustering(atlas):
    notes.edit(atlas.files, 0, PatternNote(clustering="kmeans", key=key(atlas), pattern=0, name="mine"))
    correlate.clusters(atlas, permutations=19)
    cluster.kmeans(atlas, k=3)  # the same recipe changes nothing
    assert ha.open(atlas.files.url).notes()["patterns"][0]["current"]
    cluster.kmeans(atlas, k=2)
    assert not ha.open(atlas.files.url).notes()["patterns"][0]["current"]


def _rename(url, number):
    """Change the notes as soon as nobody else has changed them meanwhile."""
    files = Files(url)
    while True:
        try:
            notes.edit(files, notes.read(files).revision, HeadNote(layer=0, head=number, name=f"h{number}"))
            return
        except notes.ConflictError:
            continue


def test_two_writers_lose_nothing(atlas):
    with pytest.raises(notes.ConflictError, match="changed elsewhere"):
        notes.edit(atlas.files, 7, HeadNote(layer=0, head=0, name="a"))
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_rename, args=(atlas.files.url, number)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    held = notes.read(atlas.files)
    assert [entry.name for entry in held.heads] == ["h0", "h1", "h2", "h3"] and held.revision == 4


FOREIGN = {
    "not json": b"{",
    "deep": b"[" * 100_000,
    "a list": b"[1]",
    "another program": b'{"kind": "something else", "version": 1}',
    "a later version": b'{"kind": "headatlas.notes", "version": 2}',
    "an unknown field": b'{"kind": "headatlas.notes", "version": 1, "extra": 1}',
    "a wrong type": b'{"kind": "headatlas.notes", "version": 1, "heads": [{"layer": "x", "head": 0}]}',
    "control characters": b'{"kind": "headatlas.notes", "version": 1, '
    b'"heads": [{"layer": 0, "head": 0, "name": "\\u001b"}]}',
    "bytes": b"\xff\xfe\x00",
}


@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN.keys())
def test_a_damaged_or_foreign_file_is_named_and_left_alone(atlas, tmp_path, content):
    path = tmp_path / "x.atlas.notes.json"
    path.write_bytes(content)
    for action in (
        lambda: notes.read(atlas.files),
        lambda: notes.check_editable(atlas.files),
        lambda: notes.edit(atlas.files, 0, HeadNote(layer=0, head=0, name="a")),
    ):
        with pytest.raises(StoreError, match=r"x\.atlas\.notes\.json cannot be read: .*left as it is") as raised:
            action()
        assert "\n" not in str(raised.value) and len(str(raised.value)) < 500
    assert path.read_bytes() == content
    result = RUNNER.invoke(app, ["table", atlas.files.url, "notes"])
    assert result.exit_code != 0


@pytest.mark.parametrize(
    "entry",
    [
        {"layer": 0, "head": 0, "name": "a\nb"}, {"layer": 0, "head": 0, "name": "x" * 81},
        {"layer": -1, "head": 0, "name": "a"}, {"layer": 0, "head": 0, "name": "\x1b[2J"},
        {"layer": 0, "head": 0, "note": "x" * 10_001}, {"layer": 0, "head": 0, "name": "\ud800"},
    ],
)  # fmt: skip
def test_only_plain_text_of_bounded_length(entry):
    with pytest.raises(ValueError):
        HeadNote(**entry)


def test_elsewhere_notes_can_be_read_but_not_written():
    atlas = ha.collect.maps("packaged", ["The cat sat."], "memory://elsewhere.atlas", resolution=8)
    content = {"kind": "headatlas.notes", "version": 1, "heads": [{"layer": 0, "head": 1, "name": "mine"}]}
    atlas.files.system.pipe_file("/elsewhere.atlas.notes.json", json.dumps(content).encode())
    assert atlas.notes()["heads"][0]["name"] == "mine"
    for action in (notes.check_editable, lambda files: notes.edit(files, 0, HeadNote(layer=0, head=0, name="a"))):
        with pytest.raises(OptionError, match="local folder"):
            action(atlas.files)
    atlas.files.system.rm_file("/elsewhere.atlas.notes.json")


def test_figures_use_the_names(atlas, tmp_path, capsys):
    correlate.clusters(atlas, permutations=19)
    largest = max(atlas.table("clusters").to_pylist(), key=lambda row: row["maps"])["cluster"]
    notes.edit(atlas.files, 0, PatternNote(clustering="kmeans", key=key(atlas), pattern=largest, name="my pattern"))

    def texts():
        figure = ha.plot.clusters(atlas, exemplars=1)
        return " ".join(text.get_text() for axes in figure.axes for text in axes.texts) + " ".join(
            text.get_text() for text in figure.texts
        )

    assert "my pattern" in texts()
    (tmp_path / "x.atlas.notes.json").write_text("{")
    assert "my pattern" not in texts() and "without notes" in capsys.readouterr().err


def test_the_command_prints_notes(atlas, tmp_path):
    notes.edit(atlas.files, 0, HeadNote(layer=0, head=2, name="looks back", note="two\nlines"))
    notes.edit(atlas.files, 1, SavedSelection(name="odd", maps=[(3, 0, 1)]))
    result = RUNNER.invoke(app, ["table", atlas.files.url, "notes", "--csv"])
    assert result.exit_code == 0, result.output
    assert "head,looks back" in result.output and "[[3, 0, 1]]" in result.output
    assert RUNNER.invoke(app, ["table", atlas.files.url, "notes", "--of", "kmeans"]).exit_code != 0
    shutil.rmtree(tmp_path / "x.atlas")
