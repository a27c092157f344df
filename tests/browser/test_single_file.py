"""A page that is a single file in a real browser: from disk and in a frame of a notebook, without any connection."""

import re
from contextlib import contextmanager

import pytest

import headatlas as ha
from headatlas.web.single.make import megabytes
from support.browser import until
from support.pages import looking
from support.walking import accessible, export_as, sentence, settled

TABS = ["Overview", "Maps", "Clusters", "Head", "Data", "Examples", "t-SNE"]


@contextmanager
def offline(browser, **options):
    """A page without a network, on which any request but for its file makes the test fail."""
    with looking(browser, **options) as page:
        requests = []
        page.context.set_offline(True)
        page.on("request", lambda request: request.url.startswith("blob:") or requests.append(request.url))
        yield page
        assert len(requests) <= 1 and all(url.startswith("file://") for url in requests), requests


def opened(page, single, folder):
    """Save a page, open the file, and check that it is small and answers its question."""
    single.save(folder / "page.html")
    assert (folder / "page.html").stat().st_size < 5e6, megabytes(len(single.html))
    page.goto((folder / "page.html").as_uri())
    settled(page)


@pytest.mark.parametrize(
    ("view", "theme", "says"),
    [
        ({"example": 3}, "dark", "text"),
        ({"head": "L2·H9"}, "light", "L2·H9"),
        ({"cluster": 0}, "light", "maps ("),
        ({}, "dark", "patterns"),
    ],
    ids=["example", "head", "cluster", "overview"],
)
def test_a_single_file_needs_no_server(browser, demo, tmp_path, view, theme, says):
    with offline(browser, theme=theme) as page:
        opened(page, ha.web.inline(demo, **view), tmp_path)
        shown = sentence(page, says)
        accessible(page)
        assert page.evaluate("document.documentElement.dataset.theme") == theme  # that of the system
        assert page.evaluate("window.shifts_") < 0.1
        for tab in TABS:
            page.get_by_role("navigation", name="Tabs").get_by_role("link", name=tab, exact=True).click()
            until(page, "document.querySelector('h1').textContent.trim() !== ''")
            settled(page)
            for problem in page.locator("[data-problem] .message").all_inner_texts():
                assert re.fullmatch(r"This page holds .* only, not what would be shown here\.", problem)
        for _ in TABS:
            page.go_back()
        assert sentence(page, says) == shown


def test_full_maps_of_all_heads_are_in_the_file(browser, demo, tmp_path):
    with offline(browser) as page:
        opened(page, ha.web.inline(demo, example=3), tmp_path)
        page.get_by_role("button", name="All", exact=True).click()
        until(page, "document.body.innerText.includes('mean of 72 heads')")
        name, content = export_as(page, page.get_by_label("Tokens", exact=True), "PNG")
        assert name.endswith(".png") and content.startswith(b"\x89PNG")
        page.get_by_role("link", name="Next text").click()
        until(page, "document.querySelector('[data-problem]')?.innerText.includes('text 3 of')")


def test_an_image_is_in_the_file(browser, images, tmp_path):
    with offline(browser) as page:
        opened(page, ha.web.inline(images, example=5), tmp_path)
        assert until(page, "document.querySelector('img[alt=\"The example\"]')?.naturalWidth") > 0


def test_a_notebook_shows_it_in_a_frame(browser, demo, tmp_path):
    """The frame's document is an attribute: links stay in it, and the page around it is out of reach."""
    cell = ha.web.inline(demo, example=3)._repr_html_()
    (tmp_path / "notebook.html").write_text(f'<!doctype html><meta charset="utf-8">{cell}', encoding="utf-8")
    with offline(browser) as page:
        page.goto((tmp_path / "notebook.html").as_uri())
        address, frame = page.url, page.frames[1]
        frame.wait_for_selector("h1")
        shown = sentence(frame, "text")
        frame.get_by_role("link", name="Overview").click()
        sentence(frame, "patterns")
        frame.locator("body").press("3")
        until(frame, "document.querySelector('nav [aria-current]').textContent === 'Clusters'")
        assert frame.get_by_role("button", name="Copy link").count() == 0  # there is no link to copy
        frame.evaluate("history.go(-2)")
        assert sentence(frame, "text") == shown and page.url == address and len(page.frames) == 2
        with pytest.raises(Exception, match=r"cross-origin|SecurityError"):
            frame.evaluate("parent.document.title")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_head_view_shows_the_arcs_of_some_heads(browser, tmp_path, theme):
    attention = ha.models.attention("packaged", "The cat sat on the mat, because it was warm.")
    with offline(browser, theme=theme) as page:
        opened(page, ha.web.head_view(attention, layer=2, heads=[0, 9]), tmp_path)
        sentence(page, "72 heads")
        accessible(page)
        assert page.get_by_role("navigation", name="Tabs").get_by_role("link").all_inner_texts() == ["Examples"]
        page.get_by_test_id("arcs").wait_for()
        assert "2 heads" in page.locator("main").inner_text()


def test_the_model_view_opens_in_a_notebook(browser, tmp_path):
    cell = ha.web.model_view("packaged", "The cat sat on the mat.")._repr_html_()
    (tmp_path / "notebook.html").write_text(f'<!doctype html><meta charset="utf-8">{cell}', encoding="utf-8")
    with offline(browser) as page:
        page.goto((tmp_path / "notebook.html").as_uri())
        frame = page.frames[1]
        frame.wait_for_selector("h1")
        sentence(frame, "72 heads")
        until(
            frame,
            "document.querySelectorAll('.skeleton').length === 0 && document.querySelector('main canvas, main svg')",
        )
