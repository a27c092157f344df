"""The page as a single file: what it holds equals the responses of the server, it stays small, and it is safe."""

import base64
import hashlib
import html
import json
import re
import zlib

import numpy as np
import pytest

import headatlas as ha
from headatlas.errors import HeadatlasError, OptionError
from headatlas.web.api.endpoints import ENDPOINTS
from headatlas.web.server.static_files import BUILT
from headatlas.web.single import document, make
from headatlas.web.single.contents import Contents
from support import served
from support.commands import done

STATED = re.compile(r"api/(atlas|examples/\d+)\.json")  # these say what the page itself holds
needs_page = pytest.mark.skipif(not (BUILT / "single" / "page.js").exists(), reason="the page was not built")


def unpacked(contents):
    return {path: zlib.decompress(base64.b64decode(packed)) for path, packed in contents.files.items()}


def assert_responses(contents, atlas):
    """Everything but what describes the page equals the server's response, byte for byte."""
    client = served.client(atlas)
    files = unpacked(contents)
    for path in files:
        if not STATED.fullmatch(path) and path not in contents.rounded:
            response = client.get(f"/{path}")
            url = atlas.files.url.encode()
            content = response.content.replace(url, url.rpartition(b"/")[2])
            assert response.status_code == 200 and files[path] == content, path
    return files


@pytest.mark.parametrize(
    ("view", "address", "paths"),
    [
        ({}, "#/overview", [ENDPOINTS.profiles.path(clustering="kmeans"), ENDPOINTS.tree.path(clustering="tree")]),
        (
            {"head": (1, 2)}, "#/head/1.2?head=1.2",
            [
                ENDPOINTS.changes.path(clustering="kmeans", layer=1, head=2),
                ENDPOINTS.column.path(column="distance.kmeans"),
                *(ENDPOINTS.pooled_map.path(example=example, layer=1, head=2) for example in (0, 39)),
            ],
        ),
        (
            {"cluster": 3}, "#/clusters/3?cluster=3",
            [
                *(ENDPOINTS.cluster.path(clustering="kmeans", cluster=cluster) for cluster in range(5)),
                ENDPOINTS.exemplars.path(clustering="kmeans"),
                ENDPOINTS.column.path(column="cluster.kmeans"),
            ],
        ),
        (
            {"example": 7}, "#/examples/7?example=7",
            [endpoint.path(example=7) for endpoint in (ENDPOINTS.example, ENDPOINTS.pooled)],
        ),
    ],
)  # fmt: skip
def test_a_view_holds_what_it_shows(view, address, paths):
    contents = make.contents(served.full(), **view)
    files = assert_responses(contents, served.full())
    always = [endpoint.path() for endpoint in (ENDPOINTS.atlas, ENDPOINTS.heads, ENDPOINTS.head_maps)]
    assert contents.address == address and {*always, *paths} <= set(files)
    assert not any("/layers/" in path or "projections" in path for path in files)
    card = json.loads(files["api/atlas.json"])
    assert card["static"] and not card["live"]


def test_an_example_holds_the_exact_full_maps_of_every_head():
    contents = make.contents(served.real(), example=2)
    files = assert_responses(contents, served.real())
    maps = {ENDPOINTS.layer_maps.path(example=2, layer=layer) for layer in range(6)}
    assert maps <= set(files) and not contents.rounded and contents.size < 1_000_000
    assert json.loads(files["api/examples/2.json"])["full"] and contents.holds == "text 2 of real.atlas"
    assert [path for path in files if re.match(r"api/examples/\d", path) and "/2" not in path] == []


def test_maps_that_do_not_fit_are_rounded_and_then_left_out(monkeypatch, capfd):
    exact = make.contents(served.real(), example=2)
    of_maps = sum(len(packed) for path, packed in exact.files.items() if "/layers/" in path)
    monkeypatch.setattr(make, "USEFUL", 0)
    monkeypatch.setattr(make, "EXACT", exact.size - of_maps // 4)
    rounded = make.contents(served.real(), example=2)
    maps = [path for path in rounded.files if "/layers/" in path]
    assert set(maps) == rounded.rounded and len(maps) == 6 and rounded.size <= make.EXACT
    for path in maps:
        weights = [np.frombuffer(unpacked(page)[path], kind) for page, kind in ((exact, "<u2"), (rounded, "u1"))]
        assert np.abs((weights[0] / 65535) ** 2 - (weights[1] / 255) ** 2).max() <= 0.004  # at a weight of 1
    monkeypatch.setattr(make, "LARGEST", rounded.size - of_maps // 4)
    pooled = make.contents(served.real(), example=2)
    assert not [path for path in pooled.files if "/layers/" in path] and not pooled.rounded
    assert json.loads(unpacked(pooled)["api/examples/2.json"])["full"] is False
    assert "without full maps: with them text 2 of real.atlas would take more than" in capfd.readouterr().err
    monkeypatch.setattr(make, "LARGEST", 1000)
    with pytest.raises(OptionError, match=r"more than the 0.001 MB of a single file. Export a folder instead"):
        make.contents(served.real(), example=2)


def test_maps_that_are_far_too_large_are_not_computed(monkeypatch, capfd):
    monkeypatch.setattr(make, "COMPRESSIBLE", 0)
    assert not any("/layers/" in path for path in make.contents(served.real(), example=0).files)
    assert "without full maps: those of 14 tokens are too large" in capfd.readouterr().err


def test_without_the_model_pooled_maps_are_held(capfd):
    contents = make.contents(served.full(), example=0)
    assert ENDPOINTS.pooled.path(example=0) in contents.files
    assert "without full maps: Full maps need the model planted" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("view", "message"),
    [
        ({"example": 40}, "There is no example 40: they go from 0 to 39"),
        ({"head": (3, 0)}, "There is no layer 3"),
        ({"head": "1.9"}, "Layer 1 has no head 9"),
        ({"head": "first"}, "'first' is not a head: give its layer and number, such as 3.10"),
        ({"cluster": 5}, "there is no cluster 5 in kmeans: the clusters are 0–4"),
        ({"example": 1, "cluster": 2}, "one view: give an example, a head or a cluster"),
    ],
)
def test_a_view_that_does_not_exist_is_refused(view, message):
    with pytest.raises(OptionError, match=message):
        make.contents(served.full(), **view)
    with pytest.raises(OptionError, match=r"has no clusters yet\. Run: headatlas cluster"):
        make.contents(served.bare(), cluster=0)


@needs_page
def test_nothing_in_the_data_ends_its_element():
    contents = Contents("#/", served.NASTY, files={"api/x.json": "e30="})
    text = document.document(contents)
    block = re.search(r'<script type="application/json" id="headatlas-embedded">(.*?)</script>', text, re.S)[1]
    assert json.loads(block)["holds"] == served.NASTY and "<" not in block
    assert text.count("</script>") == 2 and text.count("<script") == 2 and text.count("</style>") == 1


@needs_page
def test_the_policy_allows_this_script_and_this_style_only():
    text = ha.web.inline(served.real(), example=0).html
    policy = re.search(r'http-equiv="content-security-policy" content="([^"]+)"', text)[1]
    script = re.search(r'<script type="module">(.*?)</script>', text, re.S)[1]
    style = re.search(r"<style>(.*?)</style>", text, re.S)[1]
    for kind, part in (("script", script), ("style", style)):
        digest = base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy and "connect-src 'none'" in policy and "unsafe" not in policy
    assert not re.search(r'(?:src|href)="(?!data:)', text[: text.index("<style>")])  # nothing is loaded
    assert text.index("content-security-policy") < text.index("<style>")


@needs_page
def test_a_notebook_shows_the_file_in_a_frame_that_cannot_reach_it(tmp_path):
    page = ha.web.inline(served.real(), example=1, height=500)
    shown = page._repr_html_()
    document = html.unescape(re.search(r'srcdoc="([^"]*)"', shown)[1])
    assert (
        document == page.html
        and 'height="500"' in shown
        and 'sandbox="allow-scripts allow-forms allow-downloads"' in shown
    )
    assert repr(page) == f"<SinglePage of text 1 of real.atlas: {len(page.html) / 1e6:.2g} MB>"
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_bytes() == page.html.encode()
    with pytest.raises(OptionError, match=r"page.pdf: a page is saved as .html"):
        page.save(tmp_path / "page.pdf")
    with pytest.raises(HeadatlasError, match="cannot be written"):
        page.save(tmp_path / "missing" / "page.html")


@needs_page
def test_the_command_writes_the_file_and_says_its_size(tmp_path):
    atlas, file = served.real(), tmp_path / "text.html"
    out = done("export", atlas.files.url, "--single", str(file), "--example", "1")
    assert out == f"{file}: {file.stat().st_size / 1e6:.1f} MB, text 1 of real.atlas. Open it in a browser\n"
    assert file.read_text(encoding="utf-8") == ha.web.inline(atlas, example=1).html


def test_a_page_that_was_not_built_is_an_error(tmp_path):
    with pytest.raises(HeadatlasError, match="the page was not built"):
        document.document(Contents("", ""), tmp_path)
