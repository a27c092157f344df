"""Exported figures: text as text, lines and cells as shapes, what they show in words; pictures three times as fine."""

import csv
import io
import re
import struct
import xml.etree.ElementTree as ElementTree

import pytest

from support.browser import until
from support.pages import looking
from support.walking import export_as, saved, sentence, settled

SVG = "{http://www.w3.org/2000/svg}"
SHORT = "The cat sat on the mat because it was warm."


class Drawing:
    """A parsed SVG."""

    def __init__(self, content):
        self.root = ElementTree.fromstring(content)
        self.width, self.height = (float(self.root.get(name)) for name in ("width", "height"))

    def all(self, name):
        return list(self.root.iter(SVG + name))

    @property
    def texts(self):
        return [element.text or "" for element in self.all("text")]

    @property
    def words(self):
        return " ".join(self.texts)


def drawing(page, section):
    name, content = export_as(page, section, "SVG")
    assert name.endswith(".svg")
    return Drawing(content)


def png_size(content):
    assert content.startswith(b"\x89PNG")
    return struct.unpack(">II", content[16:24])


def test_the_grid_of_heads(browser, live):
    with looking(browser) as page:
        page.goto(f"{live}#/overview")
        sentence(page)
        settled(page)
        figure = page.locator("section.figure").first
        svg = drawing(page, figure)
        assert svg.texts[0] == "Heads by layer"
        assert {f"L{layer}" for layer in range(6)} | {f"H{head}" for head in range(12)} <= set(svg.texts)
        assert "all-MiniLM-L6-v2 on sample, 140 texts." in svg.words and "Layers down, heads across." in svg.words
        names = page.locator("aside .row .name").all_inner_texts()
        assert len(names) > 5 and set(names) <= set(svg.texts)  # the legend, in full
        images = svg.all("image")  # maps of one pixel per value; the first are rectangles
        assert images and all(image.get("image-rendering") == "pixelated" for image in images)
        assert len(svg.all("rect")) > 72
        paper = svg.all("rect")[0]
        assert paper.get("fill") == "#fff" and float(paper.get("width")) == svg.width
        _, png = export_as(page, figure, "PNG")
        assert png_size(png) == (round(3 * svg.width), round(3 * svg.height))
        _, table = export_as(page, figure, "CSV")
        rows = list(csv.DictReader(io.StringIO(table.decode())))
        assert len(rows) == 72 and rows[71]["layer"] == "5" and rows[71]["head"] == "11"
        shares = [name for name in rows[0] if name.startswith("share:")]
        assert len(shares) == len(names) and all(name.endswith(" [share of maps]") for name in shares)
        assert sum(float(rows[0][name]) for name in shares) == pytest.approx(1)
        assert "mean:previous [share of attention]" in rows[0]


def test_maps_as_points(browser, live):
    with looking(browser, theme="dark") as page:
        page.goto(f"{live}#/maps")
        until(page, "performance.getEntriesByName('points:complete').length")
        settled(page)
        svg = drawing(page, page.locator("section.figure").first)
        (points,) = svg.all("image")
        content = points.get("href")
        assert content.startswith("data:image/png;base64,")
        width = page.evaluate(
            "source => new Promise(done => { const image = new Image(); "
            "image.onload = () => done(image.naturalWidth); image.src = source; })",
            content,
        )
        assert width == pytest.approx(3 * float(points.get("width")), abs=2)
        assert svg.all("rect")[0].get("fill") == "#14161b"
        assert any(re.fullmatch(r"previous token \(\d+\)", text) for text in svg.texts)


def test_a_map_and_its_arcs(browser, live):
    with looking(browser) as page:
        page.goto(f"{live}#/examples/1?heads=0.2")
        page.get_by_test_id("heat-map").wait_for()
        settled(page)
        svg = drawing(page, page.get_by_label("Map, L0·H2", exact=True))
        assert not svg.all("image") and len(svg.all("rect")) > 81  # at least a cell per row, and the color scale
        assert {"[CLS]", "moon", "query ↓", "key →"} & set(svg.texts) >= {"[CLS]", "query ↓", "key →"}
        assert "head" in svg.words and "L0·H2" in svg.words and "text 1" in svg.words


def test_arcs_are_paths(browser, live):
    with looking(browser) as page:
        page.goto(f"{live}#/examples?text={SHORT.replace(' ', '+')}&heads=0.2&as=arcs")
        page.get_by_test_id("arcs").wait_for()
        settled(page)
        page.mouse.move(5, 5)
        svg = drawing(page, page.get_by_label("Tokens", exact=True))
        curves = [path for path in svg.all("path") if "C" in path.get("d", "")]
        assert len(curves) >= 10 and not svg.all("image")
        assert svg.texts.count("because") == 2 and {"query", "key"} <= set(svg.texts)


def test_each_map_has_its_tokens(browser, live):
    with looking(browser) as page:
        page.goto(f"{live}#/examples/1?heads=0.2,1.8,2.8&show=each")
        until(page, "document.querySelectorAll('figure canvas').length === 3")
        page.wait_for_load_state("networkidle")
        svg = drawing(page, page.get_by_label("Maps of 3 heads", exact=True))
        assert svg.texts.count("[SEP]") == 6 and svg.texts.count("moon") >= 6  # both axes of three maps
        assert {"L0·H2", "L1·H8", "L2·H8"} <= set(svg.texts)


@pytest.mark.parametrize(("view", "title"), [("", "Tree of patterns"), ("?view=cards", "patterns")])
def test_trees_and_cards(browser, live, view, title):
    with looking(browser) as page:
        page.goto(f"{live}#/clusters{view}")
        sentence(page)
        settled(page)

        def export(kind):
            page.locator(".foot").get_by_role("button", name="Export").click()
            return saved(page, lambda: page.get_by_role("menuitem", name=kind).click())

        svg = Drawing(export("SVG")[1])
        assert title in svg.texts[0] and "previous token" in svg.texts and "stable 1.00" in svg.words
        assert png_size(export("PNG")[1]) == (round(3 * svg.width), round(3 * svg.height))


def test_intervals_and_strips(browser, live):
    with looking(browser) as page:
        page.goto(f"{live}#/clusters/0")
        settled(page)
        svg = drawing(page, page.get_by_label("What defines it", exact=True))
        assert len(svg.all("circle")) >= 10 and not svg.all("image") and {"Statistic", "Delta"} <= set(svg.texts)
        page.goto(f"{live}#/head/0.2")
        settled(page)
        svg = drawing(page, page.get_by_label("Its clusters", exact=True))
        assert not svg.all("image") and (svg.all("path") or svg.all("rect"))
