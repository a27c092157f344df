"""Which texts: the table of a head's texts and its parts, and filters of the Maps tab, in a real browser."""

from __future__ import annotations

import csv
import io

import numpy as np

import headatlas as ha
from headatlas.data.text_columns import QUOTATION_MARKS
from support.browser import location, until
from support.pages import looking
from support.walking import accessible, export_as, lasso, sentence, settled

HEAD = (3, 5)


def quoted():
    """Which texts have quotation marks."""
    return np.array([not QUOTATION_MARKS.isdisjoint(example.text) for example in ha.data.load("sample")])


def test_a_head_on_texts_with_and_without_quotation_marks(browser, place, demo):
    url, theme, _ = place
    names = list(demo.array("stats").attrs["stats"])
    values = demo.read("stats", (slice(None), *HEAD))[:, names.index("entropy_relative")].astype(float)
    with looking(browser, theme=theme) as page:
        page.goto(f"{url}#/head/3.5?stats=stat.entropy_relative")
        sentence(page, "L3·H5")
        page.get_by_label("Split by").select_option(label="quotation marks")  # one choice answers the question
        split = page.get_by_test_id("split")
        for part, label in ((quoted(), "with quotation marks"), (~quoted(), "without quotation marks")):
            row = split.get_by_role("row").filter(has=page.get_by_text(label, exact=True))
            shown = row.inner_text()
            assert f"n\xa0=\xa0{part.sum()}" in shown
            assert abs(float(shown.split("[")[0].split()[-1]) - values[part].mean()) < 0.006, shown
        assert "includes 0" in split.inner_text() or "on texts with quotation marks than" in split.inner_text()
        page.get_by_label("List").select_option(label="with quotation marks")
        table = page.get_by_test_id("head-texts")
        assert table.get_attribute("aria-rowcount") == str(quoted().sum() + 1)
        table.get_by_role("button", name="relative entropy").first.click()  # largest first
        highest = int(np.flatnonzero(quoted())[np.argmax(values[quoted()])])
        first = table.locator("tr.row").first
        assert first.locator("a").inner_text() == str(highest)
        settled(page)
        accessible(page)
        address = location(page)
        assert all(part in address for part in ("split=quotation", "part=true", "sort=", "order=down"))
        page.reload()
        settled(page)
        assert location(page) == address and table.locator("tr.row").first.locator("a").inner_text() == str(highest)
        _, content = export_as(page, page.locator("section.figure", has=table), "CSV")
        rows = list(csv.DictReader(io.StringIO(content.decode())))
        assert len(rows) == quoted().sum() and rows[0]["text"] == str(highest)
        table.locator("tr.row").first.locator("td").nth(1).click()
        until(page, f"location.hash.startsWith('#/examples/{highest}') && location.hash.includes('head=3.5')")


def test_a_part_of_few_texts_has_no_interval(browser, live):
    with looking(browser) as page:
        page.goto(f"{live}#/head/3.5?split=topic&stats=stat.entropy_relative")
        split = page.get_by_test_id("split")
        split.wait_for()
        until(page, "document.body.innerText.includes('too few texts for an interval (7, 20 are needed)')")
        before = location(page)
        page.get_by_label("Compare").select_option(index=3)
        assert location(page) != before and "first=" in location(page) and "second=" in location(page)


def test_filters_of_maps_apply_together(browser, place):
    url, theme, _ = place
    water = sum("water" in example.text.lower() for example in ha.data.load("sample"))
    with looking(browser, theme=theme) as page:
        page.goto(f"{url}#/maps?head=3.5&q=water")
        sentence(page, f"{water} maps of L3·H5 on texts with “water”")
        settled(page)
        accessible(page)
        chips = page.get_by_test_id("filters")
        assert f"{water} of 10,080 maps" in chips.inner_text()
        chips.get_by_role("button", name="Remove the filter L3·H5").click()
        sentence(page, f"{72 * water:,} maps on texts with “water”")
        assert "head=" not in location(page)
        lasso(page)
        sentence(page, "selected on texts with “water”")
        assert 0 < int(chips.inner_text().split(" of ")[0].replace(",", "")) < 72 * water
        chips.get_by_role("button", name="Clear all").click()
        sentence(page, "10,080 maps of 72 heads")
        assert "q=" not in location(page) and "lasso=" not in location(page)


def test_searches_fold_apostrophes(browser, live):
    texts = [example.text for example in ha.data.load("sample")]
    curly = sum("don’t" in text.lower() or "don't" in text.lower() for text in texts)
    assert curly
    with looking(browser) as page:
        page.goto(f"{live}#/maps?q=DON'T")
        sentence(page, f"{72 * curly:,} maps on texts with")
        page.goto(f"{live}#/examples?q=don‘t")
        sentence(page, f"{curly} of 140 texts")


def test_nearest_maps_by_vectors(browser, place, demo):
    url, theme, live = place
    with looking(browser, theme=theme) as page:
        page.goto(f"{url}#/maps?head=3.5&example=12")
        sentence(page, "L3·H5 on text 12")
        if not live:
            assert "headatlas serve" in page.get_by_test_id("map-card").inner_text()
            return
        until(page, "document.querySelectorAll('[data-testid=by-vectors] button').length === 8")
        features = demo.read("features", of="profile").astype(np.float64)
        distances = np.linalg.norm(features - features[12, 3, 5], axis=-1)
        distances[12, 3, 5] = np.inf
        example, layer, head = np.unravel_index(np.nanargmin(distances), distances.shape)
        nearest = page.get_by_test_id("by-vectors").get_by_role("button").first
        assert nearest.get_attribute("aria-label").startswith(f"L{layer}·H{head} on example {example}")
        assert (
            "nearest" in page.get_by_test_id("agreement").inner_text()
            or "agree" in page.get_by_test_id("agreement").inner_text()
        )
        settled(page)
        accessible(page)


def test_zoom_to_the_selected_points(browser, live):
    with looking(browser) as page:
        page.goto(f"{live}#/maps?head=3.5")
        sentence(page, "maps of L3·H5")
        page.get_by_role("button", name="Zoom to the selected points").click()
        until(page, "location.hash.includes('at=')")
        zoom = float(location(page).split("at=")[1].split("&")[0].replace("%2C", ",").split(",")[2])
        assert zoom > 1.2
        canvas = page.locator("canvas[role=application]")
        canvas.press("0")
        until(page, "!location.hash.includes('at=')")
        canvas.press("z")
        until(page, "location.hash.includes('at=')")


def test_tooltips_stay_inside_the_window(browser, live):
    with looking(browser, size=(1000, 620)) as page:
        page.goto(f"{live}#/maps")
        sentence(page, "10,080 maps")
        until(page, "performance.getEntriesByName('points:complete').length")
        box = page.locator("canvas[role=application]").bounding_box()
        seen = 0
        for x in np.linspace(0.02, 0.98, 12):
            for y in (0.05, 0.5, 0.9, 0.97):
                page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
                tip = page.evaluate(
                    "(e => e && (r => [r.left, r.top, r.right, r.bottom])(e.getBoundingClientRect()))"
                    "(document.querySelector('.tooltip'))"
                )
                if tip:
                    seen += 1
                    assert tip[0] >= 0 and tip[1] >= 0 and tip[2] <= 1000 and tip[3] <= 620, tip
        assert seen
