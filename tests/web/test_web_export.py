"""The page as files: every file equals the response of the server, and other folders are left alone."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import headatlas as ha
from headatlas.data import Example
from headatlas.errors import OptionError, StoreError
from headatlas.web import export_size
from headatlas.web.api.endpoints import ENDPOINTS
from headatlas.web.export import MARKER, export
from support import served

DIFFERENT = re.compile(r"api/(atlas|examples/\d+)\.json|index\.html|\.nojekyll|" + re.escape(MARKER))


def files(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def assert_responses(files, client):
    """Files that do not describe the export itself equal the responses of the server, byte for byte."""
    url = client.app.state.responses.watcher.url
    compared = [path for path in files if not DIFFERENT.fullmatch(path)]
    for path in compared:
        response = client.get(f"/{path}")
        content = response.content.replace(url.encode(), Path(url).name.encode())  # commands do not reveal the path
        assert response.status_code == 200 and content == files[path], path
    return compared


def wanted(card, files):
    """Every file that the page may request, according to the card and the examples of an export."""
    yield from (endpoint.path() for endpoint in ENDPOINTS if endpoint.over == "atlas")
    yield from (ENDPOINTS.column.path(column=column["slug"]) for column in card["columns"])
    yield from (ENDPOINTS.positions.path(projection=projection["name"]) for projection in card["projections"])
    for clustering in card["clusterings"]:
        name = {"clustering": clustering["name"]}
        clusters = json.loads(files[ENDPOINTS.clusters.path(**name)])
        yield from (ENDPOINTS.column.path(column=clusters[column]) for column in ("labels", "distance"))
        yield ENDPOINTS.means.path(**name)
        if clustering["finest"] is not None:
            tree = json.loads(files[ENDPOINTS.tree.path(**name)])
            yield from (ENDPOINTS.column.path(column=tree["leaves"]), ENDPOINTS.tree_means.path(**name))
        if clusters["exemplars"]:
            yield ENDPOINTS.exemplars.path(**name)
        if clustering["correlated"]:
            yield ENDPOINTS.profiles.path(**name)
            numbers = [row["cluster"] for row in clusters["clusters"]]
            yield from (ENDPOINTS.cluster.path(cluster=number, **name) for number in numbers)
    layers = [(index, head) for index, layer in enumerate(card["model"]["layers"]) for head in range(layer["heads"])]
    yield from (ENDPOINTS.average.path(layer=layer, head=head) for layer, head in layers)
    for path in [path for path in files if re.fullmatch(r"api/examples/\d+\.json", path)]:
        example = json.loads(files[path])
        which = {"example": example["example"]}
        columns = {column["slug"] for column in card["columns"]}
        names = [name for clustering in card["clusterings"] if f"unlike.{(name := clustering['name'])}" in columns]
        yield from (ENDPOINTS.unlike.path(clustering=name, **which) for name in names)
        assert ENDPOINTS.example.path(**which) == path
        if example["pooled"]:
            yield ENDPOINTS.pooled.path(**which)
        if example["image"]:
            yield ENDPOINTS.image.path(**which)
            yield ENDPOINTS.thumbnail.path(**which)
        if example["full"]:
            yield from (ENDPOINTS.layer_maps.path(layer=layer, **which) for layer in {layer for layer, _ in layers})
        if example["vectors"]:
            yield from (ENDPOINTS.layer_vectors.path(layer=layer, **which) for layer in {layer for layer, _ in layers})
        if example["tsne"]:
            yield ENDPOINTS.tsne.path(variant="tsne", **which)
            yield from (
                ENDPOINTS.tsne_positions.path(variant="tsne", layouts=of, **which) for of in ("heads", "states")
            )
            indices = {layer for layer, _ in layers}
            yield from (ENDPOINTS.tsne_maximum.path(variant="tsne", layer=layer, **which) for layer in indices)


def test_files_equal_the_responses_of_the_server(tmp_path, capfd):
    atlas = served.full()
    result = export(atlas, tmp_path / "site", static=None)
    exported = files(tmp_path / "site")
    compared = assert_responses(exported, served.client(atlas))
    assert len(compared) >= 80 and result.files == len(exported) - 1 and result.full == 0
    assert result.bytes == sum(len(content) for path, content in exported.items() if path != MARKER)
    card = json.loads(exported["api/atlas.json"])
    live = served.client(atlas).get("/api/atlas.json").json()
    assert card["static"] and not card["live"] and card["full_examples"] == []
    differ = {name for name in card if card[name] != live[name]}
    assert differ <= {"static", "live", "live_note", "stages"}
    assert card["stages"][1]["command"] == "headatlas features full.atlas"  # not its path on this machine
    assert [path for path in wanted(card, exported) if path not in exported] == []
    for path, content in exported.items():
        if path.startswith("api/") and path.endswith(".json") and "openapi" not in path:
            assert str(tmp_path) not in content.decode() and str(served.folder()) not in content.decode()
    assert "the page was not built" in capfd.readouterr().err and b"pip install" in exported["index.html"]


def test_full_maps_of_the_first_examples(tmp_path):
    atlas = served.real()
    result = export(atlas, tmp_path / "site", full=2, static=None)
    exported = files(tmp_path / "site")
    client = served.client(atlas)
    compared = assert_responses(exported, client)
    assert [path for path in wanted(json.loads(exported["api/atlas.json"]), exported) if path not in exported] == []
    maps = [path for path in compared if "/layers/" in path]
    assert len(maps) == 2 * 6 and result.full == 2
    assert json.loads(exported["api/atlas.json"])["full_examples"] == [0, 1]
    for number in range(4):
        stored, live = (
            json.loads(exported[f"api/examples/{number}.json"]),
            client.get(f"/api/examples/{number}.json").json(),
        )
        differ = {name for name in stored if stored[name] != live[name]}
        assert differ == ({"tsne"} if number < 2 else {"full", "tsne", "note", "vectors"})
    assert "full maps of 2 examples" in json.loads(exported["api/examples/3.json"])["note"]
    assert export(atlas, tmp_path / "bare", full=9, static=None).full == 4  # there are no more


def test_full_maps_of_as_many_examples_as_fit(tmp_path, capfd, monkeypatch):
    atlas = served.real()
    sizes = [2 * 72 * tokens.as_py() ** 2 for tokens in atlas.table("examples")["n_tokens"]]
    monkeypatch.setattr(export_size, "LARGEST_FULL", sum(sizes[:2]) + 1)
    result = export(atlas, tmp_path / "site", static=None)
    assert result.full == 2 < len(sizes)
    assert "full maps of more examples exceed" in capfd.readouterr().err
    assert export(atlas, tmp_path / "site", full=3, static=None).full == 3
    assert "exceed" not in capfd.readouterr().err


@pytest.mark.parametrize("full", [0, 2])
def test_the_announced_size_is_near_the_truth(full, tmp_path, capfd):
    result = export(served.real(), tmp_path / "site", full=full, static=None)
    number, unit = re.search(r"writing about ([\d.]+) (KB|MB)", capfd.readouterr().err).groups()
    announced = float(number) * {"KB": 1e3, "MB": 1e6}[unit]
    assert result.bytes / 2 < announced < result.bytes * 2


def test_without_the_model_there_are_no_full_maps(tmp_path, capfd):
    result = export(served.real(), tmp_path / "site", model=str(tmp_path), static=None)
    assert result.full == 0 and not (tmp_path / "site" / "api" / "examples" / "0" / "full").exists()
    assert "without full maps: " in capfd.readouterr().err


def test_fewer_examples_always_include_the_exemplars_of_clusters(tmp_path, capfd, monkeypatch):
    atlas = served.full()
    shown = {row["example"] for row in atlas.table("exemplars", "kmeans").to_pylist()}
    result = export(atlas, tmp_path / "a", examples=3, full=0, static=None)
    wanted = {0, 1, 2, *shown}
    pages = {int(path.stem) for path in (tmp_path / "a" / "api" / "examples").glob("*.json")}
    assert pages == wanted and result.examples == len(wanted) < 40
    err = capfd.readouterr().err
    assert f"pooled maps of {len(wanted)} of 40 examples" in err and "without pooled maps have no page" in err
    monkeypatch.setattr("headatlas.web.export_size.LARGEST", 800 * 60 + 5 * 3 * 4 * 64 * 2 + 40 * 60 * 20)
    export(atlas, tmp_path / "b", full=0, static=None)
    example = json.loads((tmp_path / "b" / "api" / "examples" / "39.json").read_text())
    with_maps = {int(path.parent.name) for path in (tmp_path / "b" / "api" / "examples").glob("*/pooled.bin")}
    assert example["pooled"] == (39 in with_maps) and shown <= with_maps
    assert "examples without pooled maps have their tokens only" in capfd.readouterr().err


def test_only_an_earlier_export_is_replaced(tmp_path):
    atlas, site = served.bare(), tmp_path / "site"
    export(atlas, site, static=None)
    (site / "CNAME").write_text("atlas.example")  # a file of the user
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


def test_the_built_page_is_included(tmp_path):
    built = tmp_path / "built"
    (built / "assets").mkdir(parents=True)
    (built / "index.html").write_text("<!doctype html><head><title>x</title></head>")
    (built / "assets" / "a-1.js").write_text("1")
    (built / ".stamp").write_text("x")
    export(served.bare(), tmp_path / "site", static=built)
    exported = files(tmp_path / "site")
    assert exported["assets/a-1.js"] == b"1" and ".stamp" not in exported
    policy = re.search(r'http-equiv="content-security-policy" content="([^"]+)"', exported["index.html"].decode())[1]
    assert "script-src 'self'" in policy and "frame-ancestors" not in policy  # which is for headers only


def test_pictures_are_included_and_missing_ones_are_reported(small, tmp_path, capfd):
    loaded = small("ViT")
    pictures = [shutil.copy(path, tmp_path) for path in loaded.pictures]
    examples = [Example(str(number), image=str(path)) for number, path in enumerate(pictures)]
    atlas = ha.collect.maps(loaded.model, examples, tmp_path / "vit.atlas", resolution=4)
    (tmp_path / "1.png").unlink()
    export(atlas, tmp_path / "site", static=None)
    exported = sorted(path.parent.name for path in (tmp_path / "site").rglob("image.png"))
    assert exported == ["0", "2"] and "skipped api/examples/1/image.png" in capfd.readouterr().err


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
