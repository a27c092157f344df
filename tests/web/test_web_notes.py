"""Notes on the server: read by everyone, changed only by its own page and only if it was started for it."""

import json
import shutil

import pytest

import headatlas as ha
from headatlas import cluster
from headatlas.errors import OptionError, StoreError
from headatlas.web import export as exporting
from headatlas.web.api.payloads.notes import Notes
from headatlas.web.server import serve
from support import served
from support.served import error

ADDRESS, CHANGE = "/api/notes.json", "/api/notes/change.json"
ELSEWHERE = [
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"origin": "http://127.0.0.1:9999", "sec-fetch-site": "same-site"},
]


@pytest.fixture
def atlas(tmp_path):
    shutil.copytree(served.full().files.url, tmp_path / "x.atlas")
    return ha.open(tmp_path / "x.atlas")


@pytest.fixture
def file(atlas, tmp_path):
    return tmp_path / "x.atlas.notes.json"


@pytest.fixture
def client(atlas):
    return served.client(atlas, edit=True)


def renamed(name, revision=0, **more):
    return {"revision": revision, "head": {"layer": 0, "head": 1, "name": name, **more}}


def test_a_change_is_written_and_sent(client, file):
    empty = client.get(ADDRESS)
    assert Notes.model_validate(empty.json()).editable and empty.headers["cache-control"] == "no-store"
    assert not file.exists()  # reading writes nothing
    key = next(card["key"] for card in client.get("/api/atlas.json").json()["clusterings"] if card["name"] == "kmeans")
    assert client.post(CHANGE, json=renamed("looks back", note="a\nb")).status_code == 200
    pattern = {"clustering": "kmeans", "key": key, "pattern": 2, "name": "mine"}
    assert client.post(CHANGE, json={"revision": 1, "pattern": pattern}).status_code == 200
    selection = {"name": "odd ones", "maps": [[0, 0, 1], [3, 2, 2]], "heads": [[0, 1]], "examples": [5]}
    assert client.post(CHANGE, json={"revision": 2, "selection": selection}).status_code == 200
    sent = client.get(ADDRESS).json()
    assert sent["revision"] == 3 == json.loads(file.read_text())["revision"]
    assert sent["heads"] == [{"layer": 0, "head": 1, "name": "looks back", "note": "a\nb"}]
    assert sent["patterns"] == [{**pattern, "note": "", "current": True}]
    assert sent["selections"] == [{**selection, "note": ""}]


@pytest.mark.parametrize("headers", ELSEWHERE, ids=str)
def test_other_sites_cannot_change_notes(client, file, headers):
    assert "Only the page" in error(client.post(CHANGE, json=renamed("x"), headers=headers), 403)["message"]
    assert not file.exists()


def test_without_edit_nothing_is_written(atlas, file):
    client = served.client(atlas)
    assert not client.get(ADDRESS).json()["editable"]
    problem = error(client.post(CHANGE, json=renamed("x")), 403)
    assert "only be read" in problem["message"] and "--edit" in problem["next"]
    assert not file.exists()


def test_other_methods_types_hosts_and_sizes_are_refused(client, file):
    error(client.put(CHANGE, json=renamed("x")), 405)
    error(client.delete(CHANGE, headers={"content-type": "application/json"}), 405)
    error(client.post(CHANGE, data={"revision": "0"}), 415)
    error(client.post(CHANGE, content=json.dumps(renamed("x")), headers={"content-type": "text/plain"}), 415)
    error(client.post(CHANGE, json=renamed("x"), headers={"host": "evil.example"}), 421)
    error(client.post(CHANGE, json=renamed("x", note="a" * (1 << 20))), 413)
    chunks = (b'{"revision":"' if number == 0 else b"a" * 65536 for number in range(40))  # no length is declared
    error(client.post(CHANGE, content=chunks, headers={"content-type": "application/json"}), 413)
    assert not file.exists()


@pytest.mark.parametrize(
    "content",
    [
        b"{", b"[]", b"null", b'{"revision": 0}', b'{"revision": 0, "head": {"layer": 0, "head": 1, "name": 5}}',
        b'{"revision": "x", "head": {"layer": 0, "head": 1}}', b'{"revision": 0, "other": 1}',
        b'{"revision": 0, "head": {"layer": 0, "head": 1, "name": "a\\u0000b"}}',
        b'{"revision": 0, "head": {"layer": 0, "head": 1, "name": "\\ud800"}}',
        b'{"revision": 0, "head": {"layer": 0, "head": 1, "name": "' + b"x" * 81 + b'"}}',
        b'{"revision": 0, "selection": {"name": " ", "examples": [1]}}',
        b'{"revision": 0, "head": {"layer": 0, "head": 1}, "selection": {"name": "s", "examples": [1]}}',
    ],
)  # fmt: skip
def test_invalid_changes_are_refused(client, file, content):
    error(client.post(CHANGE, content=content, headers={"content-type": "application/json"}), 422)
    assert not file.exists()


def test_only_what_the_atlas_has_can_be_annotated(client, file):
    for head in ((9, 0), (0, 4)):
        entry = {"layer": head[0], "head": head[1], "name": "x"}
        error(client.post(CHANGE, json={"revision": 0, "head": entry}), 404)
    for members in ({"maps": [[999, 0, 0]]}, {"heads": [[0, 77]]}, {"examples": [40]}):
        error(client.post(CHANGE, json={"revision": 0, "selection": {"name": "s", **members}}), 404)
    entry = {"clustering": "kmeans", "key": "00000000", "pattern": 0, "name": "x"}
    error(client.post(CHANGE, json={"revision": 0, "pattern": entry}), 409)
    assert not file.exists()


def test_two_windows_do_not_overwrite_each_other(client):
    assert client.post(CHANGE, json=renamed("first")).status_code == 200
    assert "changed elsewhere" in error(client.post(CHANGE, json=renamed("second")), 409)["message"]
    assert client.get(ADDRESS).json()["heads"][0]["name"] == "first"
    assert client.post(CHANGE, json=renamed("second", revision=1)).status_code == 200


def test_a_damaged_file_is_reported_and_never_overwritten(client, atlas, file):
    file.write_bytes(b'{"kind": "something else"}')
    sent = client.get(ADDRESS).json()
    assert "x.atlas.notes.json cannot be read" in sent["problem"] and str(file) not in sent["problem"]
    assert not sent["editable"] and not sent["heads"]
    assert "cannot be read" in error(client.post(CHANGE, json=renamed("x")), 503)["message"]
    assert file.read_bytes() == b'{"kind": "something else"}'
    with pytest.raises(StoreError, match="cannot be read"):
        serve.serve(atlas, browser=False, edit=True)


def test_notes_of_a_clustering_that_was_replaced_are_marked(client, atlas):
    key = atlas.results("cluster")["kmeans"]["key"]
    entry = {"clustering": "kmeans", "key": key, "pattern": 0, "name": "mine"}
    assert client.post(CHANGE, json={"revision": 0, "pattern": entry}).status_code == 200
    cluster.kmeans(atlas, k=4)
    assert client.get(ADDRESS).json()["patterns"] == [{**entry, "note": "", "current": False}]
    removed = client.post(CHANGE, json={"revision": 1, "pattern": {**entry, "name": ""}})
    assert removed.status_code == 200 and not removed.json()["patterns"]


def test_markup_is_sent_as_json_text_only(client):
    assert client.post(CHANGE, json=renamed(served.NASTY.replace("\u202e", ""))).status_code == 200
    response = client.get(ADDRESS)
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-content-type-options"] == "nosniff" and "onerror" in response.text


def test_an_export_has_the_notes_read_only(client, atlas, tmp_path):
    assert client.post(CHANGE, json=renamed("looks back")).status_code == 200
    exporting.export(atlas, tmp_path / "site", full=0, static=None)
    sent = Notes.model_validate_json((tmp_path / "site" / "api" / "notes.json").read_bytes())
    assert sent.heads[0].name == "looks back" and not sent.editable


def test_editing_needs_a_local_folder():
    atlas = ha.collect.maps("packaged", ["The cat sat."], "memory://remote.atlas", resolution=8)
    assert served.client(atlas).get(ADDRESS).json()["heads"] == []
    with pytest.raises(OptionError, match="--edit needs an atlas in a local folder"):
        serve.serve(atlas, browser=False, edit=True)
