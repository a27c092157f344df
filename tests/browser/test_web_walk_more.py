"""More of the walk: clusters, heads and examples; images, pairs and hostile texts; what is missing and what fails."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

import headatlas as ha
from headatlas.stages.correlate.dataset_columns import LENGTH_LABELS
from headatlas.web.export import export
from support.browser import location, until
from support.pages import NASTY, file_server, looking, serving
from support.walking import accessible, export_as, lasso, sentence, settled


@pytest.fixture(scope="module")
def pictured(images):
    with serving(images) as url:
        yield url


@pytest.fixture(scope="module")
def paired(pairs):
    with serving(pairs) as url:
        yield url


RING = """(ring => ring && (({ x, y, width, height }) => ({ x: x + width / 2, y: y + height / 2 }))(
  ring.getBoundingClientRect()))(document.querySelector("circle.ring"))"""


def hint_of(page):
    """The tooltip of the selected map, zoomed in until it is alone under the pointer; and its position before."""
    first = until(page, RING)
    for _ in range(12):
        spot = page.evaluate(RING)
        page.mouse.move(spot["x"], spot["y"])
        page.mouse.wheel(0, -240)
        page.wait_for_timeout(60)
    spot = page.evaluate(RING)
    page.mouse.move(spot["x"] + 3, spot["y"])
    page.mouse.move(spot["x"], spot["y"])
    return until(page, "document.querySelector('[role=tooltip]')?.innerText.trim()", 10), first


def test_quantile_axes_move_the_same_maps(browser, place, demo):
    url, theme, _ = place
    with looking(browser, theme=theme) as page:
        page.goto(f"{url}#/maps?head=3.10&example=17")
        hints, spots, chosen = {}, {}, sentence(page, "L3·H10", "is “")
        for axes in ("linear", "quantile"):
            page.get_by_role("group", name="Axes").get_by_role("button", name=axes).click()
            until(page, f"location.hash.includes('axes=quantile') === {str(axes == 'quantile').lower()}")
            settled(page)
            assert page.get_by_test_id("ticks").count() == (axes == "quantile")
            hints[axes], spots[axes] = hint_of(page)
            assert sentence(page) == chosen
        assert hints["linear"] == hints["quantile"] and hints["linear"].startswith("L3·H10 on text 17")
        assert spots["linear"] != spots["quantile"]
        page.get_by_role("button", name="Show all").click()
        ends = "[...document.querySelectorAll('[data-testid=ticks] text:not(.axis)')].map(label => label.textContent)"
        across = demo.read("position").reshape(-1, 2)[:, 0]
        shown = [float(label.replace("−", "-")) for label in until(page, f"{ends}.length > 8 && {ends}")]
        assert min(abs(np.array(shown) / np.nanmin(across) - 1)) < 0.06 > min(abs(np.array(shown) / across.max() - 1))
        accessible(page)
        page.keyboard.press("Escape")
        lasso(page)
        chosen = sentence(page, "selected")
        page.get_by_role("group", name="Axes").get_by_role("button", name="linear").click()
        until(page, "!location.hash.includes('axes=')")
        assert sentence(page, "selected") == chosen  # the same maps stay selected with both axes
        page.go_back()
        page.get_by_test_id("ticks").wait_for()
        _, svg = export_as(page, page.get_by_label("Every map a point", exact=False).first, "SVG")
        assert b"<image" in svg and all(word.encode() in svg for word in page.evaluate(ends))


def test_clusters(browser, place, demo):
    url, theme, _ = place
    rows = demo.table("clusters").to_pylist()
    with looking(browser, theme=theme) as page:
        page.goto(f"{url}#/clusters?view=cards")
        sentence(page, f"{len(rows)} patterns")
        settled(page)
        accessible(page)
        cards = page.locator("article.card")
        assert cards.count() == len(rows)
        previous = next(row for row in rows if row["name"] == "previous token")
        page.locator(f"article.card[data-cluster='{previous['cluster']}']").get_by_role("link").first.click()
        until(page, f"location.hash.startsWith('#/clusters/{previous['cluster']}')")
        text = sentence(page, f"{previous['maps']:,} maps")
        assert f"{previous['stability']:.2f}" in text and "L0·H2" in text
        settled(page)
        accessible(page)
        _, table = export_as(page, page.get_by_label("What defines it", exact=True), "CSV")
        exported = {row["statistic"]: row for row in csv.DictReader(io.StringIO(table.decode()))}
        evidence = [row for row in demo.table("evidence").to_pylist() if row["cluster"] == previous["cluster"]]
        strongest = next(row for row in evidence if row["statistic"] == "previous")
        assert abs(float(exported["previous"]["delta [-1 to 1]"]) - strongest["delta"]) < 1e-6
        address = location(page)
        last = previous["cluster"] == len(rows) - 1
        page.keyboard.press("ArrowLeft" if last else "ArrowRight")
        until(page, f"location.href !== {address!r}")
        page.goto(address)
        sentence(page, f"{previous['maps']:,} maps")


def test_head(browser, place):
    url, theme, _ = place
    with looking(browser, theme=theme) as page:
        page.goto(f"{url}#/head/0.2")
        sentence(page, "L0·H2", "previous token")
        settled(page)
        accessible(page)
        page.keyboard.press("ArrowDown")
        sentence(page, "L1·H2")
        assert "#/head/1.2" in location(page)
        page.keyboard.press("ArrowLeft")
        sentence(page, "L1·H1")
        page.get_by_label("Most similar heads", exact=True).get_by_role("link").first.click()
        until(page, "!location.hash.startsWith('#/head/1.1')")
        settled(page)
        name, svg = export_as(page, page.get_by_label("Mean map of", exact=False).first, "SVG")
        assert name.endswith(".svg") and svg.startswith(b"<svg") and svg.count(b"<rect") > 32  # cells


def test_what_changes_a_head(browser, place, demo):
    url, theme, _ = place
    changes = [row for row in demo.table("changes").to_pylist() if (row["layer"], row["head"]) == (0, 2)]
    most = max(changes, key=lambda row: row["explained"])
    label = LENGTH_LABELS.get(most["column"], most["column"])
    with looking(browser, theme=theme) as page:
        page.goto(f"{url}#/head/0.2")
        figure = page.get_by_role("region", name="What changes it")
        figure.locator("tbody tr").first.wait_for()
        rows = figure.locator("tbody tr").all_inner_texts()
        assert len(rows) == len(changes) and label in rows[0].lower()
        assert f"{100 * most['explained']:.0f}%" in rows[0]
        assert label in figure.locator("li").first.inner_text().lower()
        _, text = export_as(page, figure, "CSV")
        exported = list(csv.DictReader(io.StringIO(text.decode())))
        assert exported[0]["column"] == most["column"] and len(exported) == len(changes)


def test_examples(browser, place):
    url, theme, is_live = place
    with looking(browser, theme=theme) as page:
        page.goto(f"{url}#/examples")
        sentence(page, "140 texts")
        settled(page)
        accessible(page)
        page.get_by_label("Search texts").fill("tides-1")
        until(page, "location.hash.includes('q=tides-1')")
        page.get_by_role("link", name="tides-1", exact=True).click()
        until(page, "location.hash.startsWith('#/examples/1?') || location.hash === '#/examples/1'")
        sentence(page, "head")
        settled(page)
        page.get_by_test_id("heat-map").wait_for()
        accessible(page)
        page.goto(f"{url}#/examples/0?heads=0.2,3.5")
        page.get_by_test_id("heat-map").wait_for()
        settled(page)
        page.locator("[data-unit='4']").first.hover()
        page.locator("[data-unit='4']").first.click()
        until(page, "location.hash.includes('token=4')")
        page.get_by_label("Hide special tokens").check()
        page.get_by_label("Whole words").check()
        settled(page)
        assert "special=0" in location(page) and "words=1" in location(page)
        assert page.locator("[data-unit]", has_text="[CLS]").count() == 0
        page.go_back()
        until(page, "!location.hash.includes('words=1')")
        if not is_live:  # full maps of the first three only, and the page says so
            page.goto(f"{url}#/examples/9")
            page.get_by_text("32 × 32").first.wait_for()


def test_a_custom_text(browser, live):
    with looking(browser) as page:
        page.goto(f"{live}#/examples")
        settled(page)
        page.get_by_label("Text", exact=True).fill("The cat sat on the mat.")
        page.get_by_role("button", name="Show its maps").click()
        page.get_by_test_id("heat-map").wait_for()
        page.get_by_test_id("arcs").wait_for()
        settled(page)
        address = location(page)
        page.goto("about:blank")
        page.goto(f"{address}&as=flow")
        page.get_by_test_id("heat-map").wait_for()
        assert page.locator("[data-unit]", has_text="cat").count()


def open_image(page, url):
    """Open an image with its patches; they are accessible."""
    page.goto(f"{url}#/examples/3?heads=0.0,2.1")
    page.get_by_test_id("patches").wait_for()
    settled(page)
    accessible(page)


def test_an_image_in_dark(browser, pictured):
    with looking(browser, theme="dark") as page:
        open_image(page, pictured)


def test_images(browser, pictured):
    with looking(browser) as page:
        for tab in ("overview", "maps", "clusters", "head", "examples"):
            page.goto(f"{pictured}#/{tab}")
            sentence(page)
            settled(page)
        open_image(page, pictured)
        box = page.get_by_test_id("patches").bounding_box()
        page.mouse.move(box["x"] + 30, box["y"] + 30)
        page.mouse.click(box["x"] + 30, box["y"] + 30)
        until(page, "location.hash.includes('token=')")


def test_hostile_texts_are_texts(browser, paired):
    with looking(browser) as page:
        page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
        page.goto(f"{paired}#/examples")
        settled(page)
        assert page.evaluate("document.querySelectorAll('main img, main script, main b').length") == 0
        assert page.get_by_text(NASTY[0][:20]).count()
        for number in range(len(NASTY)):
            page.goto(f"{paired}#/examples/{number}")
            settled(page)
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, f"text {number} makes the page {wide} pixels too wide"
        for kind in ("encoder", "cross", "decoder"):
            page.goto(f"{paired}#/examples/5?kind={kind}")
            page.get_by_test_id("heat-map").wait_for()
            settled(page)
        accessible(page)
        for tab in ("overview", "maps", "clusters/0", "head/2.1"):
            page.goto(f"{paired}#/{tab}")
            sentence(page)
            settled(page)


def test_missing_stages_name_the_command(browser, tmp_path):
    atlas = ha.collect.maps("packaged", ha.data.load("sample", limit=2), tmp_path / "bare.atlas", resolution=8)
    shown = ha.web.open(atlas)
    try:
        with looking(browser) as page:
            for tab, command in (("maps", "headatlas project"), ("clusters", "headatlas cluster")):
                page.goto(f"{shown.url}#/{tab}")
                page.get_by_text(command).first.wait_for()
            for tab in ("overview", "head/0.2", "examples", "examples/1"):
                page.goto(f"{shown.url}#/{tab}")
                sentence(page)
                settled(page)
    finally:
        shown.close()


def test_unknown_addresses_show_a_message(browser, live):
    with looking(browser) as page:
        for address in ("#/head/99.99", "#/clusters/999", "#/examples/99999", "#/nothing/at/all?%%%"):
            page.goto("about:blank")
            page.goto(f"{live}{address}")
            settled(page)
            assert page.locator("main").inner_text().strip()
        page.allowed[:] = [message for message in page.allowed if "404" not in message]


def test_an_atlas_that_is_moved_is_reported(browser, tmp_path):
    atlas = ha.collect.maps("packaged", ha.data.load("sample", limit=2), tmp_path / "gone.atlas", resolution=8)
    shown = ha.web.open(atlas)
    try:
        with looking(browser) as page:
            page.goto(shown.url)
            sentence(page)
            (tmp_path / "gone.atlas").rename(tmp_path / "moved.atlas")
            page.reload()
            page.locator("[data-problem]").wait_for()
            assert "gone.atlas" in page.locator("[data-problem]").inner_text()
            page.allowed.clear()  # the responses that report it
    finally:
        shown.close()


def test_without_webgl_tables_still_work(blind, live):
    with looking(blind) as page:
        page.goto(f"{live}#/maps")
        page.get_by_test_id("unseen").wait_for()
        assert "WebGL" in page.get_by_test_id("unseen").inner_text()
        page.allowed[:] = [message for message in page.allowed if "WebGL" not in message]


@pytest.mark.parametrize("size", [(390, 844), (1280, 800), (1920, 1080), (3840, 2160)], ids=str)
def test_every_width_is_readable_and_nothing_jumps(browser, live, size):
    with looking(browser, size=size) as page:
        for tab in ("overview", "maps", "clusters", "clusters/0", "head/0.2", "examples", "examples/0"):
            page.goto("about:blank")
            page.goto(f"{live}#/{tab}")
            sentence(page)
            settled(page)
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, f"{tab} at {size[0]} pixels is {wide} too wide"
            moved = page.evaluate("window.shifts_")
            assert moved < 0.1 or size[0] < 1280, f"{tab} at {size[0]} pixels jumps: {moved:.2f}"


def test_an_export_of_few_examples_asks_for_nothing_that_it_does_not_hold(browser, demo, tmp_path):
    export(demo, tmp_path / "site", full=0, examples=2)
    with file_server(tmp_path) as url, looking(browser) as page:
        refused = []
        page.on("response", lambda response: response.ok or refused.append(response.url))
        for tab in ("head/3.5", "maps?head=3.5", "clusters/0", "examples/1", "examples/100"):
            page.goto(f"{url}site/#/{tab}")
            sentence(page)
            settled(page)
        assert not refused
