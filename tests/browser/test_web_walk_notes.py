"""Names, notes and selections of a person on the page: written with --edit, shown everywhere, read-only elsewhere."""

import json
import shutil
from pathlib import Path

import pytest

import headatlas as ha
from support.browser import location, until
from support.pages import file_server, looking, serving
from support.walking import accessible, lasso, sentence, settled

MARKUP = "<img src=x onerror=alert(1)>"


@pytest.fixture
def atlas(images, tmp_path):
    shutil.copytree(images.files.url, tmp_path / "x.atlas")
    return ha.open(tmp_path / "x.atlas")


@pytest.fixture
def url(atlas):
    with serving(atlas, edit=True) as url:
        yield url


def stored(atlas):
    return json.loads(Path(f"{atlas.files.url}.notes.json").read_text())


def rename(page, what, name):
    page.get_by_role("button", name=f"Rename this {what}").click()
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type(name)
    page.keyboard.press("Enter")
    page.get_by_role("button", name=f"Rename this {what}").wait_for()


def test_a_pattern_is_renamed_everywhere(browser, url, atlas):
    rows = sorted(atlas.table("clusters", "kmeans").to_pylist(), key=lambda row: -row["maps"])
    number, automatic = rows[0]["cluster"], rows[0]["name"]
    with looking(browser) as page:
        page.goto(f"{url}#/clusters/{number}")
        settled(page)
        page.get_by_role("button", name="Rename this pattern").focus()
        page.keyboard.press("Enter")
        page.keyboard.type("not this")
        accessible(page)
        page.keyboard.press("Escape")  # leaves it as it was, and the page open
        assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Rename this pattern"
        assert page.locator("nav.walk strong").inner_text().lower() == automatic.lower()
        rename(page, "pattern", MARKUP)
        sentence(page, MARKUP)
        assert automatic in page.locator("nav.walk .here").inner_text()
        entry = stored(atlas)["patterns"][0]
        assert (entry["clustering"], entry["pattern"], entry["name"]) == ("kmeans", number, MARKUP)
        page.get_by_label("Notes on").fill("first line\nsecond")
        page.keyboard.press("Escape")
        assert page.get_by_label("Notes on").input_value() == ""
        page.get_by_label("Notes on").fill("first line\nsecond")
        accessible(page)
        page.get_by_role("region", name="Notes").get_by_role("button", name="Save").click()
        until(page, "document.querySelector('[aria-label=Notes] [role=status]').textContent === 'Saved'")
        assert stored(atlas)["patterns"][0]["note"] == "first line\nsecond"
        for tab, where in (("overview", "aside .row .name"), ("clusters?view=cards", "article.card h2")):
            page.goto(f"{url}#/{tab}")
            settled(page)
            assert MARKUP in page.locator(where).all_inner_texts()
            sentence(page, f"“{MARKUP}”")
        assert page.locator("article.card h2 a").first.get_attribute("title") == f"Automatic name: {automatic}"
        page.goto(f"{url}#/maps")
        settled(page)
        assert MARKUP in page.get_by_test_id("legend").inner_text()
        assert page.locator("img[src=x]").count() == 0


def test_a_head_is_renamed_and_found(browser, url, atlas):
    with looking(browser, theme="dark") as page:
        page.goto(f"{url}#/head/1.2")
        settled(page)
        rename(page, "head", "edge finder")
        sentence(page, "L1·H2 (edge finder)")
        accessible(page)
        page.keyboard.press("/")
        page.keyboard.type("edge f")
        results = page.get_by_role("listbox", name="Search results").get_by_role("option")
        results.filter(has_text="L1·H2 (edge finder)").first.wait_for()
        page.keyboard.press("Escape")
        rename(page, "head", " ")  # the automatic name again
        until(page, "!document.querySelector('h1').textContent.includes('edge finder')")
        assert stored(atlas)["heads"] == []


def test_two_windows_do_not_overwrite_each_other(browser, url, atlas):
    with looking(browser) as first, looking(browser) as second:
        for page in (first, second):
            page.goto(f"{url}#/head/0.1")
            settled(page)
        rename(first, "head", "one")
        second.get_by_role("button", name="Rename this head").click()
        second.keyboard.type("two")
        second.keyboard.press("Enter")
        second.get_by_role("alert").wait_for()
        second.allowed.clear()  # the server refused
        assert "another window" in second.get_by_role("alert").inner_text()
        assert stored(atlas)["heads"][0]["name"] == "one"
        second.keyboard.press("Enter")
        sentence(second, "L0·H1 (two)")
        assert stored(atlas)["heads"][0]["name"] == "two"


def test_a_selection_is_saved_and_opened(browser, url, atlas):
    with looking(browser) as page:
        page.goto(f"{url}#/maps")
        until(page, "performance.getEntriesByName('points:complete').length")
        settled(page)
        lasso(page)
        sentence(page, "selected")
        page.get_by_role("button", name="Save selection").click()
        page.keyboard.type("the middle")
        accessible(page)
        page.keyboard.press("Enter")
        text = sentence(page, "of the selection “the middle”")
        assert "saved=the+middle" in location(page) and "lasso=" not in location(page)
        saved = stored(atlas)["selections"][0]
        assert saved["name"] == "the middle" and f"{len(saved['maps']):,} maps" in text
        accessible(page)
        page.keyboard.press("Escape")
        until(page, "!location.hash.includes('saved')")
        page.get_by_test_id("saved").get_by_role("link", name="the middle").click()
        sentence(page, "of the selection “the middle”")
        page.reload()
        sentence(page, text)
        page.get_by_role("button", name="Remove the selection the middle").click()
        until(page, "!location.hash.includes('saved')")
        assert stored(atlas)["selections"] == []


def test_notes_are_read_only_elsewhere(browser, url, atlas, tmp_path):
    from headatlas.web.export import export

    with looking(browser) as page:
        page.goto(f"{url}#/head/1.2")
        settled(page)
        rename(page, "head", "edge finder")
        page.get_by_label("Notes on").fill("see figure 3")
        page.get_by_role("region", name="Notes").get_by_role("button", name="Save").click()
        until(page, "document.querySelector('[aria-label=Notes] [role=status]').textContent === 'Saved'")
        page.goto(f"{url}#/clusters/0")
        settled(page)
        rename(page, "pattern", "mine")
    export(atlas, tmp_path / "site", full=0)
    with file_server(tmp_path / "site") as exported, looking(browser) as page:
        page.goto(f"{exported}#/head/1.2")
        sentence(page, "L1·H2 (edge finder)")
        settled(page)
        assert page.get_by_role("region", name="Notes").inner_text().endswith("see figure 3")
        assert page.get_by_role("button", name="Rename").count() == 0 and page.locator("textarea").count() == 0
        accessible(page)
    ha.cluster.kmeans(atlas, k=3)
    shown = ha.web.open(atlas)
    try:
        with looking(browser) as page:
            page.goto(f"{shown.url}#/clusters?of=kmeans")
            settled(page)
            earlier = page.get_by_test_id("earlier-notes").inner_text()
            assert "mine" in earlier and "kmeans, pattern 0" in earlier
            assert "mine" not in page.locator(".main").inner_text()
    finally:
        shown.close()
