"""All heads at once on one text, in a real browser: lines for short texts, small maps for long ones."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

import headatlas as ha
from support.browser import until
from support.pages import looking
from support.walking import PIXELS, accessible, export_as, sentence, settled

SHORT = "The cat sat on the mat because it was tired."
LOADED = "document.querySelector('[data-testid=model-view]')?.dataset.layers === '6'"
INK = f"""(layer => new Set({PIXELS}(document.querySelector(`canvas[data-layer="${{layer}}"]`))).size)"""


def cell(page, layer, head):
    """The middle of the cell of a head, in pixels of the page."""
    box = page.locator(f"canvas[data-layer='{layer}']").bounding_box()
    return box["x"] + (head + 0.4) * box["width"] / 12, box["y"] + 0.4 * box["height"]


def test_all_heads_of_a_text(browser, place, demo):
    url, theme, _ = place
    with looking(browser, theme=theme) as page:
        page.goto(f"{url}#/examples/0?as=model")
        until(page, LOADED)
        settled(page)
        accessible(page)
        assert page.evaluate(f"{INK}(0)") > 8 and page.evaluate(f"{INK}(1)") > 8  # something is drawn
        page.mouse.move(*cell(page, 0, 2))
        hint = until(page, "document.querySelector('[role=tooltip]')?.innerText.trim()", 10)
        assert hint.startswith("L0·H2") and "here: " in hint and "→" in hint
        page.mouse.click(*cell(page, 0, 2))
        until(page, "location.hash.includes('head=0.2') && location.hash.includes('as=model')")
        page.get_by_test_id("enlarged").get_by_text("L0·H2").wait_for()
        page.get_by_test_id("model-view").focus()
        page.keyboard.press("ArrowRight")
        until(page, "location.hash.includes('head=0.3')")
        _, table = export_as(page, page.get_by_role("region", name="All heads"), "CSV")
        rows = list(csv.DictReader(io.StringIO(table.decode())))
        names = {row["cluster"]: row["name"] for row in demo.table("clusters").to_pylist()}
        labels = demo.read("labels", 0)
        assert [row["pattern"] for row in rows] == [names.get(label, "noise") for label in labels.ravel()]


def test_a_short_text_has_lines_and_a_double_click_opens_arcs(browser, live):
    with looking(browser) as page:
        page.goto(f"{live}#/examples?as=model&text={SHORT}")
        until(page, LOADED)
        settled(page)
        exact = ha.models.attention("packaged", SHORT)
        few = page.evaluate(f"{INK}(0)")
        page.goto(f"{live}#/examples?as=model&text={SHORT}&least=0.9")
        until(page, f"{INK}(0) < {few}")  # fewer lines
        gap, head = max((np.diff(np.sort(exact.map(1, head).ravel())[-2:])[0], head) for head in range(12))
        query, key = divmod(int(exact.map(1, head).argmax()), len(exact.tokens))
        assert gap > 1e-3  # so that rounding cannot change which link is the strongest
        page.mouse.move(*cell(page, 1, head))
        hint = until(page, "document.querySelector('[role=tooltip]')?.innerText.trim()", 10)
        assert f"“{exact.tokens[query]}” → “{exact.tokens[key]}”" in hint
        page.mouse.dblclick(*cell(page, 3, 10))
        until(page, "location.hash.includes('as=arcs') && location.hash.includes('heads=3.10')")
        page.get_by_test_id("arcs").wait_for()
        page.get_by_role("group", name="View").get_by_role("button", name="All heads").click()
        until(page, LOADED)


def test_a_long_custom_text_is_pooled(browser, live):
    with looking(browser) as page:
        page.goto(f"{live}#/examples?as=model&text={' '.join([SHORT] * 12)}")
        until(page, LOADED)
        page.get_by_text("Pooled to 32 × 32 beyond 80 tokens").wait_for()
        assert page.evaluate(f"{INK}(2)") > 30
        sentence(page)


@pytest.mark.parametrize("size", [(1280, 800), (1920, 1080)], ids=str)
def test_nothing_jumps(browser, live, size):
    with looking(browser, size=size) as page:
        page.goto(f"{live}#/examples/0?as=model&head=0.2")
        until(page, LOADED)
        settled(page)
        assert page.evaluate("window.shifts_") < 0.1
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0
