"""The walk: models compared head by head, a series step by step, matched heads, a text under both."""

from __future__ import annotations

import csv
import io
import shutil
from contextlib import contextmanager

import pytest

import headatlas as ha
from headatlas.atlas import header
from support.browser import location, until
from support.comparisons import CHANGED
from support.pages import as_files, looking, serving
from support.walking import PIXELS, accessible, export_as, sentence, settled

HEAD = f"L{CHANGED[0]}·H{CHANGED[1]}"
KEY = f"{CHANGED[0]}.{CHANGED[1]}"


@pytest.fixture(scope="module")
def addresses(compared, tmp_path_factory):
    """The page, live and exported."""
    with serving(compared) as live, as_files(compared, tmp_path_factory.mktemp("compare")) as exported:
        yield {"live light": (live, "light"), "exported dark": (exported, "dark")}


@pytest.fixture(params=["live light", "exported dark"])
def where(request, addresses):
    """The URL of the page and its theme."""
    return addresses[request.param]


@contextmanager
def opened(browser, where, rest, **options):
    url, theme = where
    with looking(browser, theme=theme, **options) as page:
        page.goto(f"{url}#/compare{rest}")
        sentence(page)
        settled(page)
        yield page


def picture(page, name):
    """The pixels of a grid as one number."""
    return page.evaluate(f"{PIXELS}(document.querySelector('[data-testid={name}] canvas')).reduce("
                         "(sum, pixel, at) => (31 * sum + pixel + at) % 1000000007, 7)")  # fmt: skip


def click_head(page, grid, compared, layer, head):
    """Click a head of a grid: heads are as far apart as the names above them."""
    box = page.get_by_test_id(grid).bounding_box()
    name = page.locator(f"[data-kind={grid.removeprefix('grid-')}] .heads span").nth(head).bounding_box()
    layers = len(compared.header["model"]["layers"])
    y = box["y"] + box["height"] * (layer + 0.4) / layers
    page.mouse.click(name["x"] + name["width"] / 2, y)


def test_two_models_side_by_side(browser, where, compared):
    with opened(browser, where, "/tuned") as page:
        assert page.evaluate("document.documentElement.dataset.theme") == where[1]
        lead = sentence(page, "1 of 8 heads changed more than between seeds, all in layer 1; most of all", HEAD)
        accessible(page)
        pictures = {kind: picture(page, f"grid-{kind}") for kind in ("before", "after", "difference")}
        assert len(set(pictures.values())) == 3
        click_head(page, "grid-difference", compared, *CHANGED)
        assert f"head={KEY}" in location(page)
        panel = page.get_by_test_id("compared-head")
        panel.get_by_test_id("statistics").wait_for()
        text = panel.inner_text()
        assert HEAD in text and "Changed more than between seeds." in text and "Beyond seeds" in text
        row = next(row for row in compared.table("compare_heads", "tuned").to_pylist() if row["changed"])
        assert (row["layer"], row["head"]) == CHANGED and f"{row['shift']:.2f}" in text
        assert "→" in panel.get_by_test_id("pattern-change").inner_text()
        accessible(page)
        page.keyboard.press("ArrowLeft")
        until(page, f"location.hash.includes('head={CHANGED[0]}.{CHANGED[1] - 1}')")
        page.get_by_text("Not more than between seeds.").wait_for()
        page.reload()
        settled(page)
        assert sentence(page) == lead and panel.get_by_role("heading", name=f"L{CHANGED[0]}·H1").is_visible()
        page.keyboard.press("Escape")
        page.get_by_test_id("found").wait_for()
        assert "head=" not in location(page)


def test_one_grid_at_a_time(browser, where):
    with opened(browser, where, "/tuned") as page:
        views = page.get_by_role("group", name="View of the heads")
        for key, kind in (("b", "before"), ("a", "after"), ("d", "difference")):
            page.keyboard.press(key)
            until(page, f"location.hash.includes('view={kind}')")
            assert page.locator("[data-kind]").evaluate_all("all => all.map(one => one.dataset.kind)") == [kind]
            assert views.get_by_role("button", name=kind.capitalize()).get_attribute("aria-pressed") == "true"
            accessible(page)
        views.get_by_role("button", name="Side by side").click()
        assert page.locator("[data-kind]").count() == 3
        before = picture(page, "grid-before")
        for label in ("shift beyond seeds", "attention to the token itself", "nothing, maps only"):
            page.get_by_label("Color by").select_option(label=label)
            until(page, f"document.querySelector('.key').textContent.includes({label!r}) !== {label.startswith('no')!r}"
                  .replace("True", "true").replace("False", "false"))  # fmt: skip
            assert picture(page, "grid-before") != before
            before = picture(page, "grid-before")


def test_layers_patterns_and_their_files(browser, where, compared):
    with opened(browser, where, "/tuned") as page:
        layers = page.get_by_label("By layer", exact=True)
        assert layers.locator("tbody tr").count() == 2
        stored = compared.table("compare_layers", "tuned").to_pylist()
        name, table = export_as(page, layers, "CSV")
        rows = list(csv.DictReader(io.StringIO(table.decode())))
        assert name == "compare-tuned-layers.csv" and [float(row["shift"]) for row in rows] == [
            row["shift"] for row in stored
        ]
        patterns = page.get_by_label("Patterns before and after", exact=True)
        shares = sorted(
            compared.table("compare_patterns", "tuned").to_pylist(), key=lambda row: -abs(row["difference"])
        )
        first = patterns.locator("tbody tr").first.inner_text()
        assert f"{100 * shares[0]['share_before']:.0f}%" in first and f"{100 * shares[0]['share_after']:.0f}%" in first
        _, table = export_as(page, page.locator("section.figure").first, "CSV")
        heads = list(csv.DictReader(io.StringIO(table.decode())))
        assert len(heads) == 8 and any(name.startswith("difference:self") for name in heads[0])
        _, svg = export_as(page, page.locator("section.figure").first, "SVG")
        assert b"<svg" in svg and b"changed more than between seeds" in svg
        most = page.get_by_test_id("changed-most")
        most.get_by_role("link", name=HEAD).click()
        page.get_by_test_id("compared-head").get_by_role("link", name="Open head").click()
        until(page, f"location.hash.startsWith('#/head/{KEY}')")


def test_a_series_step_by_step(browser, where, compared):
    with opened(browser, where, f"/series?head={KEY}") as page:
        sentence(page, "At 5000,", HEAD)
        slider = page.locator("#step")
        after = picture(page, "grid-after")
        slider.focus()
        page.keyboard.press("ArrowLeft")
        sentence(page, "At 1000,")
        settled(page)
        assert "step=2" in location(page) and picture(page, "grid-after") != after
        page.keyboard.press("Escape")
        page.keyboard.press("[")
        sentence(page, "At 100,")
        assert page.get_by_role("button", name="earlier").is_disabled()
        page.get_by_role("button", name="later").click()
        sentence(page, "At 1000,")
        page.reload()
        sentence(page, "At 1000,")
        settled(page)
        jobs = page.get_by_test_id("jobs")
        (job,) = [row for row in compared.table("compare_series", "series").to_pylist() if row["taken_up"] is not None]
        cells = jobs.locator("tbody tr").first.inner_text()
        assert "1000" in cells and HEAD in cells and "attention to the token itself" in cells
        assert f"{job['values'][-1]:.2f}" in cells
        jobs.get_by_role("link", name=HEAD).click()
        curve = page.get_by_role("img", name="attention to the token itself at every step")
        curve.wait_for()
        assert curve.locator("circle").count() == 4
        accessible(page)
        curve.locator("circle").nth(1).click()
        sentence(page, "At 100,")
        jobs.get_by_role("button", name="1000").click()
        sentence(page, "At 1000,")


def test_matched_heads_of_another_shape(browser, where, compared):
    with opened(browser, where, "/shape") as page:
        rows = compared.table("compare_matches", "shape").to_pylist()
        table = page.get_by_test_id("matches")
        assert table.locator("tbody tr.row").count() == len(rows)
        accessible(page)
        table.get_by_role("button", name="Distance").click()
        assert "sort=distance" in location(page)
        farthest = max(row["distance"] for row in rows if row["distance"] is not None)
        assert f"{farthest:.1f}" in table.locator("tbody tr.row").first.inner_text()
        alone = next(row for row in rows if row["other_layer"] is None)
        table.get_by_role("link", name=f"L{alone['layer']}·H{alone['head']}").click()
        page.get_by_text("has no counterpart in other").wait_for()
        matched = next(row for row in rows if row["other_layer"] is not None)
        table.get_by_role("link", name=f"L{matched['layer']}·H{matched['head']}").click()
        panel = page.get_by_test_id("compared-head")
        panel.get_by_text(f"Matched with L{matched['other_layer']}·H{matched['other_head']} of other").wait_for()
        page.keyboard.press("a")
        page.get_by_test_id("grid-after").wait_for()
        settled(page)
        accessible(page)


def test_a_text_under_both_models(browser, where, compared):
    kept = compared.table("compare_examples", "tuned").to_pylist()
    with opened(browser, where, "/tuned") as page:
        section = page.get_by_test_id("kept-example")
        assert HEAD in section.inner_text()  # it moved most
        assert section.get_by_test_id("heat-map").count() == 3
        chosen = min(kept, key=lambda row: row["shift"][0])
        section.get_by_label("Text and its shift").select_option(str(chosen["example"]))
        until(page, f"location.hash.includes('example={chosen['example']}')")
        settled(page)
        heat = section.get_by_test_id("heat-map").nth(2)
        heat.scroll_into_view_if_needed()
        box = heat.bounding_box()
        page.mouse.move(box["x"] + 140, box["y"] + 120)
        tip = page.get_by_role("tooltip")
        tip.get_by_text("difference").wait_for()
        assert "before" in tip.inner_text() and "after" in tip.inner_text()
        accessible(page)
        section.get_by_role("link", name="Open text").click()
        until(page, f"location.hash.startsWith('#/examples/{chosen['example']}')")


def test_another_comparison_and_a_small_screen(browser, where):
    with opened(browser, where, "", size=(800, 700)) as page:  # the latest, and no room for three grids
        page.get_by_test_id("matches").wait_for()
        page.get_by_label("Comparison").select_option("tuned")
        sentence(page, "changed more than between seeds")
        settled(page)
        assert "#/compare/tuned" in location(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 800
        accessible(page)
        page.go_back()
        page.get_by_test_id("matches").wait_for()


def test_an_atlas_without_comparisons_names_the_command(browser, compared, tmp_path):
    bare = ha.open(shutil.copytree(compared.files.url, tmp_path / "bare.atlas"))
    del bare.header["results"]["compare"]
    header.write(bare.files, bare.header)
    with serving(bare) as url, opened(browser, (url, "light"), "") as page:
        sentence(page, "has not been compared")
        assert "headatlas compare" in page.locator("main code").inner_text()
        accessible(page)
