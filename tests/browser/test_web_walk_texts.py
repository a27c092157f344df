"""Several heads and several texts in a real browser: hues, two maps side by side, links of two tokens, custom text."""

from __future__ import annotations

import csv
import io

import numpy as np

import headatlas as ha
from support.browser import location, until
from support.pages import looking
from support.walking import PIXELS, accessible, export_as, sentence, settled

NAMES = "Mary met John in the park, and later Mary wrote to him."
HUES = f"[...new Set({PIXELS}(document.querySelector('[data-testid=arcs]')))]"


def has_hue(color):
    """Whether the arcs have a pixel of about this color."""
    red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    parts = f"(value & 255) - {red}", f"(value >> 8 & 255) - {green}", f"(value >> 16 & 255) - {blue}"
    return f"{HUES}.some(value => value >>> 24 > 200 && {' + '.join(f'Math.abs({part})' for part in parts)} < 40)"


def test_arcs_of_several_heads_have_a_hue_each(browser, live):
    with looking(browser) as page:
        page.goto(f"{live}#/examples?text={NAMES}&as=arcs&heads=0.2,1.7,3.10")
        page.get_by_test_id("arcs").wait_for()
        settled(page)
        legend = page.get_by_test_id("hues").get_by_role("button")
        assert [name.strip() for name in legend.all_inner_texts()] == ["L0·H2", "L1·H7", "L3·H10"]
        hues = ["#2673AF", "#E59F02", "#16A276"]
        for color in hues:
            until(page, has_hue(color))
        accessible(page)
        legend.nth(1).click()
        until(page, "location.hash.includes('hide=1.7')")
        until(page, f"!{has_hue(hues[1])}")
        assert page.evaluate(has_hue(hues[0])) and legend.nth(1).get_attribute("aria-pressed") == "false"
        page.go_back()
        until(page, has_hue(hues[1]))


def test_two_texts_and_two_heads_side_by_side(browser, place):
    url, theme, _ = place
    with looking(browser, theme=theme) as page:
        page.goto(f"{url}#/examples/0?heads=0.2&head=0.2&as=flow")
        page.get_by_test_id("heat-map").wait_for()
        field = page.get_by_label("Another text or head beside this one")
        field.fill("L3·H10")
        field.press("Enter")
        until(page, "location.hash.includes('beside=3.10')")
        until(page, "document.querySelectorAll('[data-testid=beside] [data-testid=heat-map]').length === 2")
        settled(page)
        titles = page.locator("[data-testid=beside] h2").all_inner_texts()
        assert titles[0].startswith("L0·H2 on text 0") and titles[1].startswith("L3·H10 on text 0")
        boxes = [page.get_by_test_id("heat-map").nth(i).bounding_box() for i in (0, 1)]
        assert boxes[0]["y"] == boxes[1]["y"] and boxes[1]["x"] > boxes[0]["x"] + 300
        accessible(page)
        page.goto(f"{url}#/examples/0?heads=0.2&head=0.2&as=flow&beside=2")
        page.get_by_text("L0·H2 on text 2").wait_for()
        field.fill("text 99999")
        field.press("Enter")
        page.get_by_text("no such text or head").wait_for()
        page.get_by_role("button", name="Show one alone").click()
        until(page, "!location.hash.includes('beside')")


def test_heads_that_link_two_mentions_come_first(browser, live):
    exact = ha.models.attention("packaged", NAMES)
    first, second = [at for at, token in enumerate(exact.tokens) if token == "mary"]
    weights = np.array([[exact.map(layer, head) for head in range(12)] for layer in range(6)])
    links = np.maximum(weights[:, :, first, second], weights[:, :, second, first])
    layer, head = divmod(int(links.argmax()), 12)
    with looking(browser) as page:
        page.goto(f"{live}#/examples")
        settled(page)
        page.get_by_label("Text", exact=True).fill(NAMES)
        page.get_by_role("button", name="Show its maps").click()
        page.get_by_role("group", name="View").get_by_role("button", name="Text", exact=True).click()
        page.locator(f"[data-unit='{first}']").click()
        between = page.get_by_test_id("between")
        between.get_by_role("button", name=f"“mary” ({second})").click()
        between.locator("li").first.wait_for()
        until(page, f"location.hash.includes('token={first}%2C{second}')")
        accessible(page)
        _, table = export_as(page, between, "CSV")
        rows = list(csv.reader(io.StringIO(table.decode())))[1:]
        assert len(rows) == 72 and [int(cell) for cell in rows[0][:2]] == [layer, head]
        for row in rows:
            at = int(row[0]), int(row[1])
            there, back = weights[(*at, first, second)], weights[(*at, second, first)]
            assert abs(float(row[2]) - there) < 1e-4 and abs(float(row[3]) - back) < 1e-4
        between.get_by_role("link", name=f"L{layer}·H{head}").click()
        until(page, f"location.hash.includes('heads={layer}.{head}')")
        page.locator("[data-unit='3']").click(modifiers=["Shift"])  # another second token
        until(page, f"location.hash.includes('token={first}%2C3')")


def test_a_custom_text_has_patterns_and_stays_on_the_way_to_tsne(browser, live, demo):
    example = next(iter(ha.data.load("sample", limit=1)))
    names = {row["cluster"]: row["name"] for row in demo.table("clusters").to_pylist()}
    of, labels = demo.latest("cluster"), demo.read("labels", 0)
    sizes = {names.get(label, "noise"): int((labels == label).sum()) for label in np.unique(labels)}
    with looking(browser) as page:
        page.goto(f"{live}#/examples?of={of}")
        settled(page)
        page.get_by_label("Text", exact=True).fill(example.text)
        page.get_by_role("button", name="Show its maps").click()
        most = max(sizes, key=lambda name: sizes[name])
        sentence(page, "On your text of", f"{sizes[most]} of 72 heads show “{most}”")
        row = page.get_by_test_id("patterns-here").locator("li").first
        assert most in row.inner_text() and f"{sizes[most]} heads" in row.inner_text()
        page.get_by_label("Color by").select_option(label="relative entropy of attention")
        until(page, "location.hash.includes('color=')")
        settled(page)
        accessible(page)
        page.get_by_label("Tabs").get_by_role("link", name="t-SNE").click()
        until(page, "location.hash.startsWith('#/tsne?') && location.hash.includes('text=')")
        page.get_by_text("Your text", exact=True).wait_for()
        page.get_by_label("Tabs").get_by_role("link", name="Overview").click()
        sentence(page, "patterns")
        page.get_by_label("Tabs").get_by_role("link", name="Examples").click()
        sentence(page, "On your text of")
        assert "text=" in location(page)
