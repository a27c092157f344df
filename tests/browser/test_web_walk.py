"""A walk through every tab in a real browser: live and exported, light and dark. Any error on the console fails it."""

from __future__ import annotations

import csv
import io

import headatlas as ha
from support.browser import location, until
from support.pages import looking
from support.walking import accessible, export_as, lasso, sentence, settled


def test_overview(browser, place, demo):
    url, theme, _ = place
    with looking(browser, theme=theme) as page:
        page.goto(url)
        sentence(page, f"{demo.table('clusters').num_rows} patterns", "10,080 maps")
        assert page.evaluate("document.documentElement.dataset.theme") == theme
        settled(page)
        accessible(page)
        grid = page.get_by_test_id("head-grid")
        grid.click(position={"x": 200, "y": 60})
        assert "head=" in location(page)
        first = location(page)
        page.keyboard.press("ArrowRight")
        assert location(page) != first
        page.go_back()  # moving with the arrow keys is one step of history
        assert "head=" not in location(page)
        page.go_forward()
        page.get_by_label("Color by").select_option(label="relative entropy of attention")
        page.get_by_label("Sort by").select_option(index=2)
        assert "color=" in location(page) and "sort=" in location(page)
        address = location(page)
        page.reload()
        settled(page)
        assert location(page) == address
        name, png = export_as(page, page.locator("section.figure").first, "PNG")
        assert name.endswith(".png") and png.startswith(b"\x89PNG")
        page.keyboard.press("Escape")
        assert "head=" not in location(page)
        page.keyboard.press("?")
        assert page.get_by_role("dialog").is_visible()


def test_maps(browser, place):
    url, theme, _ = place
    with looking(browser, theme=theme) as page:
        page.goto(f"{url}#/maps")
        sentence(page, "10,080 maps of 72 heads on 140 texts")
        until(page, "performance.getEntriesByName('points:complete').length")
        settled(page)
        lasso(page)
        sentence(page, "selected")
        assert "lasso=" in location(page)
        settled(page)
        chosen = sentence(page)
        accessible(page)
        page.reload()
        assert sentence(page, chosen) == chosen
        name, table = export_as(page, page.get_by_label("Typical maps", exact=True), "CSV")
        rows = list(csv.DictReader(io.StringIO(table.decode())))
        assert name.endswith(".csv") and f"{len(rows):,} maps selected" in chosen
        page.go_back()
        until(page, "!document.querySelector('h1').textContent.includes('selected')")
        page.get_by_label("Color by").select_option(label="topic")
        page.get_by_label("Find texts").fill("harbour")
        page.get_by_label("Find texts").press("Enter")
        until(page, "location.hash.includes('q=harbour')")
        texts = [example.text for example in ha.data.load("sample")]
        matching = sum("harbour" in text.lower() for text in texts)
        sentence(page, f"{72 * matching:,} maps")


def test_search_leads_to_heads_clusters_and_texts(browser, live):
    with looking(browser) as page:
        page.goto(live)
        sentence(page)
        for typed, kind, goes in (
            ("L3H10", "head", "#/head/3.10"),
            ("previous token", "cluster", "#/clusters/"),
            ("tides-1", "text", "#/examples/"),
        ):
            page.keyboard.press("/")
            page.keyboard.type(typed)
            page.get_by_role("listbox", name="Search results").get_by_role("option").filter(has_text=kind).first.click()
            until(page, f"location.hash.startsWith({goes!r})")
            sentence(page)


def test_tour_and_theme(browser, live):
    with looking(browser) as page:
        page.goto(live)
        sentence(page)
        page.get_by_role("button", name="Tour").click()
        steps = 0
        while not page.get_by_role("button", name="Done").count():  # on the last step
            sentence(page)
            page.get_by_role("button", name="Next", exact=True).click()
            steps += 1
        assert steps >= 6
        page.get_by_role("button", name="Done").click()
        assert "#/compare" in location(page)  # the last tab
        page.get_by_role("button", name="Change to dark").click()
        page.reload()
        sentence(page)
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
