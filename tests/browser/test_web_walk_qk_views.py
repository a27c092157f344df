"""Queries & keys in a real browser: one text with its vectors, one image with its flows, and averages of a head."""

from __future__ import annotations

import csv
import io
import re
import shutil

import numpy as np
import pytest

import headatlas as ha
from headatlas.web.export import export
from support.browser import location, until
from support.pages import file_server, looking
from support.walking import accessible, export_as, sentence, settled

LAYER, HEAD, QUERY, KEY = 2, 9, 4, 7
WIDE = (1440, 900)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """The packaged model on a few texts, with the queries and keys of its heads drawn."""
    path = tmp_path_factory.mktemp("drawn") / "texts.atlas"
    atlas = ha.collect.maps("packaged", ha.data.load("sample", limit=24), path)
    ha.qk.embed(atlas, "pca", tokens=100)
    return atlas


@pytest.fixture(scope="module")
def drawn_images(images, tmp_path_factory):
    """A small vision model on pictures, likewise."""
    path = tmp_path_factory.mktemp("drawn") / "images.atlas"
    shutil.copytree(images.files.url, path)
    atlas = ha.open(path)
    ha.qk.embed(atlas, "pca")
    return atlas


@pytest.fixture(scope="module", params=["live light", "exported dark"])
def shown(request, drawn, drawn_images, tmp_path_factory):
    """The addresses of both pages, and the theme; whether they are live."""
    kind, theme = request.param.split()
    if kind == "live":
        served = [ha.web.open(atlas) for atlas in (drawn, drawn_images)]
        yield served[0].url, served[1].url, theme, True
        for page in served:
            page.close()
        return
    folder = tmp_path_factory.mktemp("export")
    for name, atlas in (("texts", drawn), ("images", drawn_images)):
        export(atlas, folder / name, full=3)
    with file_server(folder) as url:
        yield f"{url}texts/", f"{url}images/", theme, False


def pair_of(atlas, example):
    """The products of a query and a key, from the stored vectors."""
    rows = {row["example"]: row["offset"] for row in atlas.table("sampled").to_pylist()}
    query, key = (
        atlas.read(name, (rows[example] + token, LAYER, HEAD)).astype(float)
        for name, token in (("query", QUERY), ("key", KEY))
    )
    return query * key * atlas.header["model"]["layers"][LAYER]["scaling"]


def number(text):
    return float(text.replace("−", "-"))


def test_a_pair_of_tokens_dimension_by_dimension(browser, shown, drawn):
    url, _, theme, _ = shown
    products = pair_of(drawn, 0)
    text = drawn.table("examples")["text"][0].as_py()
    exact = ha.models.attention("packaged", text)
    with looking(browser, theme=theme, size=WIDE) as page:
        page.goto(f"{url}#/qk/{LAYER}.{HEAD}?view=sentence&example=0&token={QUERY},{KEY}")
        strips = page.get_by_test_id("strips")
        strips.wait_for()
        settled(page)
        spoken = sentence(page, "On text 0,", f"L{LAYER}·H{HEAD}", "score")
        assert f"“{exact.tokens[QUERY]}” attends to “{exact.tokens[KEY]}”" in spoken
        score, weight = map(number, page.locator(".sum strong").all_inner_texts())
        assert score == pytest.approx(products.sum(), rel=0.06, abs=0.006)
        assert weight == pytest.approx(exact.map(LAYER, HEAD)[QUERY, KEY], rel=0.06, abs=0.002)
        figure = page.locator("section.figure", has=strips)
        _, table = export_as(page, figure, "CSV")
        rows = np.array([[float(cell) for cell in row] for row in list(csv.reader(io.StringIO(table.decode())))[1:]])
        assert rows[:, 3] == pytest.approx(products, abs=1e-4)
        accessible(page)
        page.mouse.move(5, 5)  # away from the strips, where the pointer marks a dimension
        strips.focus()
        page.keyboard.press("ArrowRight")
        assert page.get_by_test_id("dimension").inner_text().startswith("Dimension 0:")
        page.get_by_role("group", name="Order of dimensions").get_by_role("button", name="product").click()
        until(page, "location.hash.includes('order=product')")
        strips.focus()
        page.keyboard.press("ArrowRight")  # from the dimension that was marked
        page.keyboard.press("Escape")
        largest = int(np.argmax(products * np.sign(products.sum())))
        assert f" {largest} (" in page.get_by_test_id("dimension").inner_text()


def test_options_of_a_sentence_are_in_the_address(browser, shown, drawn):
    url, _, theme, live = shown
    with looking(browser, theme=theme, size=WIDE) as page:
        page.goto(f"{url}#/qk/0.2?view=sentence&example=1")
        page.get_by_test_id("key-rows").wait_for()
        settled(page)
        page.get_by_label("Hide special tokens").check()
        until(page, "location.hash.includes('special=0')")
        page.get_by_text("renormalized to a sum of 1").wait_for()
        page.get_by_label("Weight by value norm").check()
        until(page, "location.hash.includes('weight=norm')")
        page.get_by_text("multiplied by the norm").wait_for()
        accessible(page)
        flow = page.get_by_role("listbox", name="Tokens")
        flow.locator("[data-unit='3']").click()
        until(page, "/token=\\d/.test(location.hash)")
        before = page.get_by_test_id("strips").locator("xpath=ancestor::section").locator("h2").inner_text()
        box = page.get_by_test_id("key-rows").bounding_box()
        page.mouse.move(box["x"] + 200, box["y"] + 8)
        until(page, f"![...document.querySelectorAll('h2')].some(title => title.textContent === {before!r})")
        page.mouse.click(box["x"] + 200, box["y"] + 8)
        until(page, "/token=\\d+%2C\\d+/.test(location.hash)")
        page.keyboard.press("Escape")
        until(page, "!location.hash.includes('token=')")
        assert "head=0.2" in location(page)
        following = min(example for example in drawn.table("qk_points")["example"].to_pylist() if example > 1)
        page.get_by_role("link", name="Next text").click()  # the next one whose tokens are drawn
        until(page, f"location.hash.includes('example={following}&')")
        if live:
            sentence(page, f"On text {following},")
        else:
            page.goto(f"{url}#/qk/0.2?view=sentence&example=9")
            page.get_by_text("not of this one").wait_for()
            settled(page)
            accessible(page)


def test_maps_follow_from_vectors_without_the_model(browser, small, tmp_path):
    network = small("BERT")
    texts = [example.text for example in ha.data.load("sample", limit=3)]
    atlas = ha.collect.maps(network.model, texts, tmp_path / "gone.atlas")
    ha.qk.embed(atlas, "pca")
    weights = ha.models.attention(network.model, texts[2]).map(1, 1)[QUERY]
    key = int(weights.argmax())
    served = ha.web.open(atlas)
    try:
        with looking(browser, size=WIDE) as page:
            page.goto(f"{served.url}#/qk/1.1?view=sentence&example=2&token={QUERY},{key}")
            page.get_by_text("Computed from the stored queries and keys").wait_for()
            settled(page)
            shown = number(page.locator(".sum strong").nth(1).inner_text())
            assert shown == pytest.approx(weights[key], rel=0.06, abs=0.002)
    finally:
        served.close()


def test_flows_of_an_image(browser, shown, drawn_images):
    _, url, theme, _ = shown
    path = drawn_images.table("examples")["image"][0].as_py()
    weights = ha.models.attention(drawn_images.header["model"]["source"], path).map(1, 2)
    best = weights[1:].argmax(1)  # of each patch; the first token is special
    arrows = int(((best > 0) & (best != np.arange(1, len(weights)))).sum())
    with looking(browser, theme=theme, size=WIDE) as page:
        page.goto(f"{url}#/qk/1.2?view=image&example=0")
        patches = page.get_by_test_id("patches")
        patches.wait_for()
        settled(page)
        rows, columns = np.divmod(np.arange(36), 6)
        apart = np.maximum(*(np.abs(axis[:, None] - axis) for axis in (rows, columns)))
        kinds = {"themselves": apart == 0, "patches next to them": apart == 1, "patches farther away": apart > 1}
        given = {kind: (weights[1:, 1:] * mask).sum() / 36 for kind, mask in kinds.items()}
        spoken = sentence(page, "On image 0, patches in L1·H2 ")
        kind = next(kind for kind in kinds if kind in spoken)
        assert f" {given[kind]:.0%} " in spoken and f" to {kind}; even attention would give" in spoken
        accessible(page)
        box = patches.bounding_box()
        page.mouse.click(box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.4)
        until(page, "/token=\\d/.test(location.hash)")
        sentence(page, "On image 0, patch ", "score")
        modes = page.get_by_role("group", name="What is drawn")
        modes.get_by_role("button", name="Strongest of each").click()
        flows = page.get_by_test_id("flows")
        flows.wait_for()
        until(page, f"document.querySelectorAll('[data-testid=flows] path[stroke]').length === {arrows}")
        assert page.get_by_text(f"{arrows} arrows").count() == 1
        modes.get_by_role("button", name="All flows").click()
        until(page, "location.hash.includes('flow=all')")
        page.goto(f"{url}#/qk/1.2?view=image&example=0&flow=all&least=0.05")
        inner = weights[1:, 1:].copy()
        np.fill_diagonal(inner, 0)
        many = int((inner >= 0.05).sum())
        until(page, f"document.querySelectorAll('[data-testid=flows] path[stroke]').length === {many}")
        page.get_by_label("Hide special tokens").check()
        until(page, "location.hash.includes('special=0')")
        settled(page)
        accessible(page)


def test_averages_of_texts(browser, shown):
    url, _, theme, _ = shown
    with looking(browser, theme=theme, size=WIDE) as page:
        page.goto(f"{url}#/qk/0.2?view=average")
        spoken = sentence(page, "On average over 24 texts, L0·H2 attends most to the previous token")
        assert re.search(r"0\.9\d* \[0\.\d+,\s0\.\d+\]", spoken), spoken
        settled(page)
        accessible(page)
        bars = page.get_by_test_id("offsets")
        assert bars.locator(".bar").count() == 65
        bars.focus()
        page.keyboard.press("ArrowRight")
        assert page.get_by_text("The token 32 back:").count() == 1
        _, table = export_as(page, page.locator("section.figure", has=bars), "CSV")
        rows = list(csv.DictReader(io.StringIO(table.decode())))
        previous = next(row for row in rows if row["distance [tokens]"] == "-1")
        assert float(previous["low"]) < float(previous["mean"]) < float(previous["high"]) and previous["texts"] == "24"
        grid = page.get_by_test_id("qk-heads").locator("[tabindex='0']").first
        grid.focus()
        page.keyboard.press("ArrowRight")
        until(page, "location.hash.startsWith('#/qk/0.3')")
        sentence(page, "L0·H3")


def test_averages_of_images(browser, shown):
    _, url, theme, _ = shown
    with looking(browser, theme=theme, size=WIDE) as page:
        page.goto(f"{url}#/qk/1.2?view=average")
        sentence(page, "On average over 24 images, L1·H2 attends most to")
        settled(page)
        accessible(page)
        box = page.get_by_test_id("offsets").bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.get_by_text("The patch itself", exact=True).wait_for()
        assert page.get_by_text("Attention to [CLS]:").count() == 1
