"""The page as files: every file is what the server answers, and no folder of somebody else is touched."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import headatlas as ha
from headatlas.data import Example
from headatlas.errors import OptionError, StoreError
from headatlas.web.api.endpoints import ENDPOINTS
from headatlas.web.export import MARKER, export
from support import served

OWN = re.compile(r"api/(atlas|examples/\d+)\.json|index\.html|\.nojekyll|" + re.escape(MARKER))  # differ


def files(folder):
    return {one.relative_to(folder).as_posix(): one.read_bytes() for one in sorted(folder.rglob("*")) if one.is_file()}


def assert_answers(found, client):
    """Files that do not speak of themselves are what the server answers, byte for byte."""
    url = client.app.state.responses.watcher.url
    compared = [path for path in found if not OWN.fullmatch(path)]
    for path in compared:
        answer = client.get(f"/{path}")
        there = answer.content.replace(url.encode(), Path(url).name.encode())  # commands do not tell where it lay
        assert answer.status_code == 200 and there == found[path], path
    return compared


def wanted(card, files):
    """Every file that the page may ask for, according to the card and the examples of an export."""
    yield from (endpoint.path() for endpoint in ENDPOINTS if endpoint.over == "atlas")
    yield from (ENDPOINTS.column.path(column=column["slug"]) for column in card["columns"])
    yield from (ENDPOINTS.positions.path(projection=projection["name"]) for projection in card["projections"])
    for clustering in card["clusterings"]:
        name = {"clustering": clustering["name"]}
        clusters = json.loads(files[ENDPOINTS.clusters.path(**name)])
        yield from (ENDPOINTS.column.path(column=clusters[column]) for column in ("labels", "distance"))
        yield ENDPOINTS.means.path(**name)
        if clusters["exemplars"]:
            yield ENDPOINTS.exemplars.path(**name)
        if clustering["correlated"]:
            yield ENDPOINTS.profiles.path(**name)
            numbers = [row["cluster"] for row in clusters["clusters"]]
            yield from (ENDPOINTS.cluster.path(cluster=number, **name) for number in numbers)
    layers = [(index, head) for index, layer in enumerate(card["model"]["layers"]) for head in range(layer["heads"])]
    for path in [path for path in files if re.fullmatch(r"api/examples/\d+\.json", path)]:
        example = json.loads(files[path])
        one = {"example": example["example"]}
        assert ENDPOINTS.example.path(**one) == path
        if example["pooled"]:
            yield ENDPOINTS.pooled.path(**one)
        if example["image"]:
            yield ENDPOINTS.image.path(**one)
        if example["full"]:
            yield from (ENDPOINTS.full_map.path(layer=layer, head=head, **one) for layer, head in layers)
        if example["tsne"]:
            yield ENDPOINTS.tsne.path(variant="tsne", **one)
            yield from (ENDPOINTS.tsne_positions.path(variant="tsne", layouts=of, **one) for of in ("heads", "states"))
            indices = {layer for layer, _ in layers}
            yield from (ENDPOINTS.tsne_maximum.path(variant="tsne", layer=layer, **one) for layer in indices)


def test_files_are_the_answers_of_the_server(tmp_path, capfd):
    atlas = served.full()
    done = export(atlas, tmp_path / "site", static=None)
    found = files(tmp_path / "site")
    compared = assert_answers(found, served.client(atlas))
    assert len(compared) >= 80 and done.files == len(found) - 1 and done.full == 0
    assert done.bytes == sum(len(content) for path, content in found.items() if path != MARKER)
    card = json.loads(found["api/atlas.json"])
    live = served.client(atlas).get("/api/atlas.json").json()
    assert card["static"] and not card["live"] and card["full_examples"] == []
    differ = {name for name in card if card[name] != live[name]}
    assert differ <= {"static", "live", "live_note", "stages"}
    assert card["stages"][1]["command"] == "headatlas features full.atlas"  # not where it lay on this machine
    assert [path for path in wanted(card, found) if path not in found] == []
    for path, content in found.items():
        if path.startswith("api/") and path.endswith(".json") and "openapi" not in path:
            assert str(tmp_path) not in content.decode() and str(served.folder()) not in content.decode()
    assert "the page was not built" in capfd.readouterr().err and b"pip install" in found["index.html"]


def test_full_maps_of_the_first_examples(tmp_path):
    atlas = served.real()
    done = export(atlas, tmp_path / "site", full=2, static=None)
    found = files(tmp_path / "site")
    client = served.client(atlas)
    compared = assert_answers(found, client)
    assert [path for path in wanted(json.loads(found["api/atlas.json"]), found) if path not in found] == []
    maps = [path for path in compared if "/full/" in path]
    assert len(maps) == 2 * 72 and done.full == 2
    assert json.loads(found["api/atlas.json"])["full_examples"] == [0, 1]
    for number in range(4):
        kept, live = json.loads(found[f"api/examples/{number}.json"]), client.get(f"/api/examples/{number}.json").json()
        other = {name for name in kept if kept[name] != live[name]}
        assert other == ({"tsne"} if number < 2 else {"full", "tsne", "note"})
    assert "full maps of 2 examples" in json.loads(found["api/examples/3.json"])["note"]
    assert export(atlas, tmp_path / "bare", full=9, static=None).full == 4  # there are no more


def test_without_the_model_there_are_no_full_maps(tmp_path, capfd):
    done = export(served.real(), tmp_path / "site", model=str(tmp_path), static=None)
    assert done.full == 0 and not (tmp_path / "site" / "api" / "examples" / "0" / "full").exists()
    assert "without full maps: " in capfd.readouterr().err


def test_fewer_examples_but_always_those_that_show_a_cluster(tmp_path, capfd, monkeypatch):
    atlas = served.full()
    shown = {row["example"] for row in atlas.table("exemplars", "kmeans").to_pylist()}
    done = export(atlas, tmp_path / "a", examples=3, full=0, static=None)
    wanted = {0, 1, 2, *shown}
    pages = {int(one.stem) for one in (tmp_path / "a" / "api" / "examples").glob("*.json")}
    assert pages == wanted and done.examples == len(wanted) < 40
    assert f"{len(wanted)} of 40 examples have pooled maps, the others have no page" in capfd.readouterr().err
    monkeypatch.setattr("headatlas.web.export.LARGEST", 800 * 60 + 5 * 3 * 4 * 64 * 2 + 40 * 60 * 20)
    export(atlas, tmp_path / "b", full=0, static=None)
    one = json.loads((tmp_path / "b" / "api" / "examples" / "39.json").read_text())
    there = {int(one.parent.name) for one in (tmp_path / "b" / "api" / "examples").glob("*/pooled.bin")}
    assert one["pooled"] == (39 in there) and shown <= there
    assert "the others have their tokens only" in capfd.readouterr().err


def test_only_an_earlier_export_is_replaced(tmp_path):
    atlas, site = served.bare(), tmp_path / "site"
    export(atlas, site, static=None)
    (site / "CNAME").write_text("atlas.example")  # a file of the person who shows it
    (site / "api" / "old.json").write_text("{}")
    export(atlas, site, static=None)
    assert (site / "CNAME").exists() and not (site / "api" / "old.json").exists()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("years of work")
    with pytest.raises(OptionError, match=r"not an earlier export \(it holds thesis.tex\)"):
        export(atlas, tmp_path / "other", static=None)
    (tmp_path / "other" / MARKER).write_text(json.dumps({"wrote": ["../site", "/etc", "..", "", "thesis.tex/.."]}))
    export(atlas, tmp_path / "other", static=None)
    assert (tmp_path / "other" / "thesis.tex").exists() and (site / "api").exists()
    (tmp_path / "file").write_text("x")
    for wrong in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises((OptionError, StoreError), match="folder"):
            export(atlas, wrong, static=None)
    with pytest.raises(OptionError, match="negative"):
        export(atlas, tmp_path / "x", full=-1)


def test_the_built_page_goes_along(tmp_path):
    built = tmp_path / "built"
    (built / "assets").mkdir(parents=True)
    (built / "index.html").write_text("<!doctype html><head><title>x</title></head>")
    (built / "assets" / "a-1.js").write_text("1")
    (built / ".stamp").write_text("x")
    export(served.bare(), tmp_path / "site", static=built)
    found = files(tmp_path / "site")
    assert found["assets/a-1.js"] == b"1" and ".stamp" not in found
    policy = re.search(r'http-equiv="content-security-policy" content="([^"]+)"', found["index.html"].decode())[1]
    assert "script-src 'self'" in policy and "frame-ancestors" not in policy  # which is for headers only


def test_pictures_go_along_and_missing_ones_are_told(small, tmp_path, capfd):
    one = small("ViT")
    pictures = [shutil.copy(path, tmp_path) for path in one.pictures]
    examples = [Example(str(number), image=str(path)) for number, path in enumerate(pictures)]
    atlas = ha.collect.maps(one.model, examples, tmp_path / "vit.atlas", resolution=4)
    (tmp_path / "1.png").unlink()
    export(atlas, tmp_path / "site", static=None)
    there = sorted(path.parent.name for path in (tmp_path / "site").rglob("image.png"))
    assert there == ["0", "2"] and "skipped api/examples/1/image.png" in capfd.readouterr().err


def test_pooled_maps_are_read_a_block_at_a_time(monkeypatch, tmp_path):
    atlas, reads, read = served.bare(), [], ha.Atlas.read
    monkeypatch.setattr(
        ha.Atlas, "read", lambda self, name, *rest, **more: (reads.append(name), read(self, name, *rest, **more))[1]
    )
    export(atlas, tmp_path / "site", static=None)
    assert reads.count("pooled") == 5  # 40 examples in blocks of 8
    pooled = np.nan_to_num(read(atlas, "pooled", 33).astype(float)).ravel()
    sent = np.fromfile(tmp_path / "site" / "api" / "examples" / "33" / "pooled.bin", "<u2")
    assert np.abs((sent / 65535) ** 2 - pooled).max() < 1 / 65535
