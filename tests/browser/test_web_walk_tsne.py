"""A walk through the t-SNE tab in a real browser."""

from __future__ import annotations

import pytest

import headatlas as ha
from support.browser import location, until
from support.pages import looking
from support.walking import accessible, export_as, sentence, settled

LONG = (
    "The keeper of the lighthouse wrote down every ship that passed before the storm, because he believed that a ship "
    "which has been written down cannot be lost. His daughter did not believe it. "
)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_tab(browser, live, theme):
    with looking(browser, theme=theme) as page:
        page.goto(f"{live}#/tsne")
        sentence(page, "as one head reads it")
        accessible(page)
        page.get_by_role("link", name="Twice a day the water").click()
        until(page, "document.querySelectorAll('[data-testid=layout]').length === 2", 90)
        settled(page)
        assert "#/tsne/0" in location(page) and "example=0" in location(page)
        sentence(page, "L0·H2", "most active of 72 heads", "chains")  # the longest chains are shown first
        accessible(page)

        thumbs = page.get_by_test_id("thumbnails")
        page.get_by_label("Sort heads by").select_option("chain")
        assert thumbs.locator("button").first.get_attribute("data-head") == "0.2"
        page.get_by_label("Sort heads by").select_option("kl")
        thumbs.locator("button").nth(3).click()
        chosen = thumbs.locator("button").nth(3).get_attribute("data-head")
        assert f"head={chosen}" in location(page)
        sentence(page, "L" + chosen.replace(".", "·H"))
        page.go_back()
        assert "head=" not in location(page)

        settled(page)
        page.locator("#flow-10").hover()  # a token of the text is ringed in both layouts and in the map
        until(page, "document.querySelectorAll('.ring').length === 2", 10)
        page.locator("#flow-10").click()
        assert "token=10" in location(page)
        page.get_by_role("button", name="quantile").click()
        assert "axes=quantile" in location(page)
        page.get_by_label("Least attention of a line").fill("0.5")
        assert "least=0.5" in location(page)
        name, content = export_as(page, page.locator("section.figure").first, "SVG")
        assert name.startswith("tsne-0-0.2") and content.count(b"<circle") >= 83 and content.count(b"<text") > 30
        name, content = export_as(page, page.get_by_label("All heads", exact=True).last, "CSV")
        assert content.count(b"\n") >= 72
        page.get_by_label("Standard t-SNE beside").uncheck()
        assert page.get_by_test_id("layout").count() == 1


def test_a_long_text_can_be_read(browser, live):
    """Words do not overlap, and zooming in shows those that had no room."""
    with looking(browser, size=(1920, 1080)) as page:
        page.goto(f"{live}#/tsne?text={(LONG * 6).replace(' ', '+')}")
        until(page, "document.querySelectorAll('[data-testid=layout]').length === 2", 120)
        settled(page)
        count = "[...document.querySelectorAll('.points')][0].querySelectorAll('.names text').length"
        assert page.evaluate(count) >= 100
        boxes = page.evaluate(
            "[...[...document.querySelectorAll('.points')][0].querySelectorAll('.names text')].map(label => "
            "{ const b = label.getBBox(); return [b.x, b.y + 2, b.x + b.width, b.y + b.height - 2]; })"
        )
        over = [
            (a, b)
            for at, a in enumerate(boxes)
            for b in boxes[:at]
            if min(a[2], b[2]) - max(a[0], b[0]) > 1 and min(a[3], b[3]) - max(a[1], b[1]) > 1
        ]
        assert not over
        page.get_by_role("button", name="Zoom in").first.click()
        assert "at=" in location(page)
        page.get_by_role("button", name="Show all").first.click()
        assert "at=" not in location(page)


def test_maximum_attention_opens_a_head(browser, live):
    with looking(browser) as page:
        page.goto(f"{live}#/tsne/0?head=5.1&top=1")
        until(page, "document.querySelectorAll('[data-testid=maximum]').length > 1", 90)  # in lines, like text
        settled(page)
        tokens = "[...document.querySelectorAll('[data-testid=maximum] text')].map(label => label.textContent)"
        assert page.evaluate(tokens)[:5] == ["[CLS]", "twice", "a", "day", "the"] and len(page.evaluate(tokens)) == 83
        first = page.get_by_test_id("maximum").first
        first.hover(position={"x": 24, "y": 74 + 3 * 14 + 7})  # the second token, the fourth head
        hint = page.locator(".tooltip")
        until(page, "document.querySelector('.tooltip')?.textContent.includes('L1·H3')")
        assert "“twice” (1)" in hint.inner_text() and "maximum attention" in hint.inner_text()
        until(page, "document.querySelectorAll('.ring').length === 2")  # ringed in both layouts
        assert page.locator("[data-testid=maximum] rect.column").count() == 1
        first.click(position={"x": 24, "y": 74 + 3 * 14 + 7})
        until(page, "location.hash.includes('head=1.3')")
        sentence(page, "L1·H3")
        page.get_by_role("button", name="Open L1·H7").first.click()
        until(page, "location.hash.includes('head=1.7')")
        page.locator("#flow-10").hover()  # a token of the text is marked here
        until(page, "document.querySelector('[data-testid=maximum] text.marked')?.textContent === 'pe'")
        figure = page.get_by_label("Maximum attention, layer 1", exact=True)
        _, content = export_as(page, figure, "CSV")
        assert content.count(b"\n") == 1 + 12 * 83
        _, content = export_as(page, figure, "SVG")
        assert content.count(b"<text") > 83 and content.count(b"<rect") > 83  # cells


def test_the_ranked_list_sorts_and_opens(browser, live):
    with looking(browser) as page:
        page.goto(f"{live}#/tsne/0?head=5.1")
        until(page, "document.querySelectorAll('[data-testid=ranked] tbody tr').length === 72", 90)
        ranked = page.get_by_test_id("ranked")
        assert ranked.locator("tbody tr").first.get_attribute("data-head") == "0.2"
        ranked.get_by_role("button", name="KL").click()
        assert "rank=kl" in location(page)
        kl = [float(text.removeprefix(">")) for text in ranked.locator("tbody td:last-child").all_inner_texts()]
        assert kl == sorted(kl)
        ranked.get_by_role("button", name="L1·H8").click()
        until(page, "location.hash.includes('head=1.8')")


def test_words_without_special_tokens(browser, live):
    with looking(browser) as page:
        page.goto(f"{live}#/tsne/0?head=0.2&token=4")
        until(page, "document.querySelectorAll('[data-testid=layout]').length === 2", 90)
        page.get_by_label("Hide special tokens").check()
        assert "special=0" in location(page) and "token=" not in location(page)  # points are renumbered
        sentence(page, "81 tokens")
        page.get_by_label("Whole words").check()
        sentence(page, "words")
        settled(page)
        accessible(page)
        assert page.get_by_test_id("maximum").get_by_text("[CLS]").count() == 0
        assert page.evaluate("document.querySelector('.layout').parentElement.textContent").count("##") == 0


def test_progress_is_shown(browser, live):
    with looking(browser) as page:
        page.goto(f"{live}#/tsne?text={(LONG * 9).replace(' ', '+')}")
        until(page, "document.querySelector('progress[value]') !== null", 90)
        assert "Heads laid out" in page.locator(".wait").inner_text() and "of 72" in page.locator(".wait").inner_text()
        until(page, "document.querySelectorAll('[data-testid=layout]').length === 2", 120)
        until(page, "document.querySelector('progress') === null")
        settled(page)
        assert page.evaluate("window.shifts_") < 0.02  # nothing jumps when progress or the layouts appear


def test_an_exported_page_says_what_it_needs(browser, exported):
    with looking(browser) as page:
        page.goto(f"{exported}#/tsne/0")
        sentence(page, "not stored here")
        assert page.get_by_text("needs the server and the model").is_visible()
        assert page.get_by_text("headatlas serve demo.atlas", exact=True).is_visible()
        assert page.get_by_label("Whole words").is_disabled() and page.get_by_label("Hide special tokens").is_disabled()
        assert "headatlas serve" in page.get_by_title("An exported page holds").first.get_attribute("title")
        page.goto(f"{exported}#/tsne?text=Rain")
        assert page.get_by_text("cannot be laid out here").is_visible()


def test_images_and_cross_attention(browser, images, pairs):
    """Patches next to their picture; in cross attention, outputs and inputs are both points."""
    shown = ha.web.open(images)
    try:
        with looking(browser, theme="dark") as page:
            page.goto(f"{shown.url}#/tsne/1?head=1.1")
            until(page, "document.querySelectorAll('[data-testid=layout]').length === 2", 60)
            settled(page)
            sentence(page, "L1·H1", "37 tokens")
            assert page.get_by_label("Whole words").count() == 0
            page.get_by_test_id("layout").first.hover()
    finally:
        shown.close()
    shown = ha.web.open(pairs)
    try:
        for number in (1, 5):  # left-to-right mixed with right-to-left, and a plain text
            with looking(browser) as page:
                page.goto(f"{shown.url}#/tsne/{number}?head=0.1")
                until(page, "document.querySelectorAll('[data-testid=layout]').length === 2", 60)
                settled(page)
                cross = next(layer["index"] for layer in layers_of(pairs) if layer["kind"] == "cross")
                page.get_by_test_id("thumbnails").locator(f"[data-head='{cross}.0']").click()
                until(page, "document.querySelectorAll('[data-testid=layout]').length === 1")  # it has no hidden states
                settled(page)
                page.locator("#flow-keys-0").hover()
                until(page, "document.querySelectorAll('.ring').length === 1", 10)
    finally:
        shown.close()


def layers_of(atlas):
    """The layers with their index."""
    return [layer | {"index": number} for number, layer in enumerate(atlas.header["model"]["layers"])]
