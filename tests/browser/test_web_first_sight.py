"""What the page of the demo shows at first sight: the tree, what the input changes, and null models; no scrolling."""

from __future__ import annotations

import shutil

import pytest

import headatlas as ha
from headatlas import null, wording
from headatlas.atlas.findings import read_findings
from support.browser import location, until
from support.pages import as_files, looking, serving
from support.walking import accessible, settled


@pytest.fixture(scope="module")
def atlas(demo, tmp_path_factory):
    """The demo with null models, as `headatlas demo` makes it; on fewer examples if it has none yet."""
    if "null" in demo.done:
        return demo
    copied = ha.open(shutil.copytree(demo.files.url, tmp_path_factory.mktemp("sight") / "demo.atlas"))
    null.references(copied, examples=8, model="packaged")
    return copied


@pytest.fixture(scope="module", params=["served", "exported"])
def url(request, atlas, tmp_path_factory):
    live = request.param == "served"
    with serving(atlas) if live else as_files(atlas, tmp_path_factory.mktemp("sight-site")) as address:
        yield address


def seen(page, place):
    """Whether the top left corner of an element, and what is at its first line, can be seen where it is."""
    box = place.bounding_box()
    return page.evaluate(
        "([x, y]) => { const at = document.elementFromPoint(x, y); return at ? at.outerHTML : '' }",
        [box["x"] + 4, box["y"] + 8],
    )


@pytest.mark.parametrize(("size", "theme"), [((1280, 800), "light"), ((1920, 1080), "dark")])
def test_the_tree_what_changes_and_null_models_are_seen_at_once(browser, url, atlas, size, theme):
    first = read_findings(atlas, "tree").columns[0]
    group = first.switches[0]
    text = wording.switches_line(first.column, group.value, group.pattern, group.heads, group.mean)
    with looking(browser, theme=theme, size=size) as page:
        page.goto(f"{url}#/overview")
        settled(page)
        sentence = page.get_by_test_id("findings").locator("li").first
        assert " ".join(sentence.inner_text().replace("\u00a0", " ").split()) == f"{text}."
        slider = page.get_by_role("slider")
        nulls = page.get_by_test_id("nulls").first
        assert "with random weights" in nulls.inner_text()
        for place in (sentence, slider, nulls):
            outer = place.evaluate("element => element.outerHTML")
            assert seen(page, place) in outer or outer in seen(page, place)
        accessible(page)


def test_findings_lead_to_heads_texts_and_the_grid(browser, url, atlas):
    first = read_findings(atlas, "tree").columns[0]
    group = first.switches[0]
    head = f"{group.heads[0]['layer']}.{group.heads[0]['head']}"
    with looking(browser) as page:
        page.goto(f"{url}#/overview")
        settled(page)
        findings = page.get_by_test_id("findings")
        findings.get_by_role("link", name=f"{first.column} = {group.value}").first.click()
        until(page, f"document.querySelector('aside h2')?.textContent.startsWith('{group.examples} of ')")
        page.go_back()
        settled(page)
        findings.get_by_role("link", name=" more").first.click()
        assert f"color=change%3A{first.column}" in location(page) and f"sort=change%3A{first.column}" in location(page)
        page.get_by_text("Heads, ranked").wait_for()
        page.get_by_text(f"change with {first.column}").first.wait_for()
        findings.get_by_role("link").nth(1).click()
        until(page, f"location.hash.startsWith('#/head/{head}')")
        settled(page)
        assert "What changes it" in page.inner_text("main")
        accessible(page)
