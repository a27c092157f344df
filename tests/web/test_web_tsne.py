"""Head t-SNE on the page: what the server computes, and a walk through the tab in a real browser."""

from __future__ import annotations

import json

import numpy as np
import pytest
from test_web_walk import accessible, export_as, sentence, settled
from typer.testing import CliRunner

import headatlas as ha
from headatlas import tsne
from headatlas.cli import app
from headatlas.web.compute.live import Job
from support import served
from support.browser import until
from support.pages import looking

LONG = (
    "The keeper of the lighthouse wrote down every ship that passed before the storm, because he believed that a ship "
    "which has been written down cannot be lost. His daughter did not believe it. "
)


@pytest.fixture(scope="module")
def client():
    with served.client(served.real()) as talking:
        yield talking


@pytest.fixture(scope="module")
def answer(client):
    got = client.get("/api/examples/0/tsne.json")
    assert got.status_code == 200, got.text
    return got.json()


def layout(found, places, number, points):
    """A head's layout from the buffer, in its own units."""
    frame = found["heads"][number]["frame"]
    own = places.reshape(-1, points, 2)[number].astype(float)
    return own * frame["step"] + [frame["x"], frame["y"]] - 32767 * frame["step"]


def test_layouts_are_those_of_the_library(client, answer):
    points = len(client.get("/api/examples/0.json").json()["tokens"])
    places = served.words(client.get("/" + answer["positions"]))
    model = served.real().header["model"]
    assert len(answer["heads"]) == sum(layer["heads"] for layer in model["layers"])
    assert places.size == 2 * points * len(answer["heads"])
    found = tsne.heads("packaged", served.TEXTS[0], heads=[(0, 2), (3, 10)], restarts=8)
    for (layer, head), expected in found.layouts.items():
        number = 12 * layer + head
        one = answer["heads"][number]
        assert (one["layer"], one["head"]) == (layer, head)
        np.testing.assert_allclose(one["kl"], found.kl[layer, head], rtol=1e-6)
        assert one["mass"] == pytest.approx(found.mass[layer, head])
        seen, wanted = layout(answer, places, number, points), expected.astype(float)
        apart = [np.linalg.norm(each[:, None] - each[None], axis=-1) for each in (seen, wanted)]
        np.testing.assert_allclose(apart[0], apart[1], atol=4 * one["frame"]["step"])  # turned, not changed


def test_activity_chains_and_states(client, answer):
    found = tsne.activity("packaged", served.TEXTS[0])
    for one, row in zip(answer["heads"], found.rows, strict=True):
        assert (one["layer"], one["head"], one["chain"]) == (row["layer"], row["head"], row["chain"])
        assert one["activity"] == pytest.approx(row["activity"], abs=1e-5)
    assert [one["layer"] for one in answer["layers"]] == list(range(6))
    assert all(len(one["kl"]) == 8 for one in answer["layers"])
    points = len(client.get("/api/examples/0.json").json()["tokens"])
    assert served.words(client.get("/" + answer["states"])).size == 2 * 6 * points


def test_a_text_of_ones_own_and_short_ones(client):
    for text in ("Rain.", "a", LONG):
        read = client.post("/api/try.json", json={"text": text}).json()
        found = client.get("/" + read["tsne"]).json()
        assert found["example"] == -1 and len(found["heads"]) == 72
        assert served.words(client.get("/" + found["positions"])).size == 2 * 72 * len(read["tokens"])


def test_mistakes(client):
    served.error(client.get("/api/examples/99/tsne.json"), 404)
    served.error(client.get("/api/examples/0/tsne/maximum/99.bin"), 404)
    served.error(client.get("/api/examples/0/tsne/other.bin"), 422)
    served.error(client.get(f"/api/try/{'0' * 32}/tsne.json"), 404)
    with served.client(served.bare()) as planted:  # its model is not at hand
        assert planted.get("/api/examples/0.json").json()["tsne"] is None
        served.error(planted.get("/api/examples/0/tsne.json"), 404)


def test_nobody_waits():
    """What is given up stops between two heads."""
    from headatlas.web.compute import forward
    from headatlas.web.compute import tsne as page

    job, done = Job(), []

    def make(task):
        done.append(task)
        job.stop.set()

    with pytest.raises(forward.GivenUp):
        page.side_by_side(make, range(100), job)
    assert len(done) < 20


def test_an_export_holds_layouts(tmp_path):
    done = CliRunner().invoke(
        app, ["export", served.real().files.url, str(tmp_path / "site"), "--full", "0", "--tsne", "1"]
    )
    assert done.exit_code == 0 and "t-SNE of 1" in done.output
    api = tmp_path / "site" / "api" / "examples"
    found = json.loads((api / "0" / "tsne.json").read_text())
    for path in (found["positions"], found["states"], *(found["maximum"].replace("LAYER", str(n)) for n in range(6))):
        assert (tmp_path / "site" / path).is_file()
    assert json.loads((api / "0.json").read_text())["tsne"] == "api/examples/0/tsne.json"
    assert json.loads((api / "1.json").read_text())["tsne"] is None


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_tab(browser, live, theme):
    with looking(browser, theme=theme) as page:
        page.goto(f"{live}#/tsne")
        sentence(page, "as one head reads it")
        accessible(page)
        page.get_by_role("link", name="Twice a day the water").click()
        until(page, "document.querySelectorAll('[data-testid=layout]').length === 2", 90)
        settled(page)
        assert "#/tsne/0" in page.url and "example=0" in page.url
        sentence(page, "L0·H2", "most active of 72 heads", "chains")  # the longest chains are shown first
        accessible(page)

        thumbs = page.get_by_test_id("thumbnails")
        page.get_by_label("Sort heads by").select_option("chain")
        assert thumbs.locator("button").first.get_attribute("data-head") == "0.2"
        page.get_by_label("Sort heads by").select_option("kl")
        thumbs.locator("button").nth(3).click()
        chosen = thumbs.locator("button").nth(3).get_attribute("data-head")
        assert f"head={chosen}" in page.url
        sentence(page, "L" + chosen.replace(".", "·H"))
        page.go_back()
        assert "head=" not in page.url

        settled(page)
        page.locator("#flow-10").hover()  # a token of the text is ringed in both layouts and in the map
        until(page, "document.querySelectorAll('.ring').length === 2", 10)
        page.locator("#flow-10").click()
        assert "token=10" in page.url
        page.get_by_role("button", name="quantile").click()
        assert "axes=quantile" in page.url
        page.get_by_label("Least attention of a line").fill("0.5")
        assert "least=0.5" in page.url
        name, content = export_as(page, page.locator("section.figure").first, "SVG")
        assert name.startswith("tsne-0-0.2") and content.count(b"<circle") >= 83 and content.count(b"<text") > 30
        name, content = export_as(page, page.get_by_label("All heads", exact=True).last, "CSV")
        assert content.count(b"\n") >= 72
        page.get_by_label("Standard t-SNE beside").uncheck()
        assert page.get_by_test_id("layout").count() == 1


def test_a_long_text_can_be_read(browser, live):
    """Words do not lie over one another, and zooming in brings those that had no room."""
    with looking(browser, size=(1920, 1080)) as page:
        page.goto(f"{live}#/tsne?text={(LONG * 6).replace(' ', '+')}")
        until(page, "document.querySelectorAll('[data-testid=layout]').length === 2", 120)
        settled(page)
        count = "[...document.querySelectorAll('.points')][0].querySelectorAll('.names text').length"
        assert page.evaluate(count) >= 100
        boxes = page.evaluate(
            "[...[...document.querySelectorAll('.points')][0].querySelectorAll('.names text')].map(one => "
            "{ const b = one.getBBox(); return [b.x, b.y + 2, b.x + b.width, b.y + b.height - 2]; })"
        )
        over = [
            (a, b)
            for at, a in enumerate(boxes)
            for b in boxes[:at]
            if min(a[2], b[2]) - max(a[0], b[0]) > 1 and min(a[3], b[3]) - max(a[1], b[1]) > 1
        ]
        assert not over
        page.get_by_role("button", name="Zoom in").first.click()
        assert "at=" in page.url
        page.get_by_role("button", name="Show all").first.click()
        assert "at=" not in page.url


def test_maximum_attention_opens_a_head(browser, live):
    with looking(browser) as page:
        page.goto(f"{live}#/tsne/0?head=5.1&top=1")
        until(page, "document.querySelectorAll('[data-testid=maximum]').length > 1", 90)  # in lines, as text is
        settled(page)
        tokens = "[...document.querySelectorAll('[data-testid=maximum] text')].map(one => one.textContent)"
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
        assert content.count(b"<text") > 83 and b"<image" in content


def test_the_ranked_list_sorts_and_opens(browser, live):
    with looking(browser) as page:
        page.goto(f"{live}#/tsne/0?head=5.1")
        until(page, "document.querySelectorAll('[data-testid=ranked] tbody tr').length === 72", 90)
        ranked = page.get_by_test_id("ranked")
        assert ranked.locator("tbody tr").first.get_attribute("data-head") == "0.2"
        ranked.get_by_role("button", name="KL").click()
        assert "rank=kl" in page.url
        kl = [float(one) for one in ranked.locator("tbody td:last-child").all_inner_texts()]
        assert kl == sorted(kl)
        ranked.get_by_role("button", name="L1·H8").click()
        until(page, "location.hash.includes('head=1.8')")


def test_words_without_special_tokens(browser, live):
    with looking(browser) as page:
        page.goto(f"{live}#/tsne/0?head=0.2&token=4")
        until(page, "document.querySelectorAll('[data-testid=layout]').length === 2", 90)
        page.get_by_label("Hide special tokens").check()
        assert "special=0" in page.url and "token=" not in page.url  # points have other numbers now
        sentence(page, "81 tokens")
        page.get_by_label("Whole words").check()
        sentence(page, "words")
        settled(page)
        accessible(page)
        assert page.get_by_test_id("maximum").get_by_text("[CLS]").count() == 0
        assert page.evaluate("document.querySelector('.layout').parentElement.textContent").count("##") == 0


def test_a_reader_sees_how_far_it_is(browser, live):
    with looking(browser) as page:
        page.goto(f"{live}#/tsne?text={(LONG * 9).replace(' ', '+')}")
        until(page, "document.querySelector('progress[value]') !== null", 90)
        assert "Heads laid out" in page.locator(".wait").inner_text() and "of 72" in page.locator(".wait").inner_text()
        until(page, "document.querySelectorAll('[data-testid=layout]').length === 2", 120)
        until(page, "document.querySelector('progress') === null")
        settled(page)
        assert page.evaluate("window.shifts_") < 0.02  # nothing jumps when progress or the layouts come


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
    """Patches beside their picture; of cross attention outputs and inputs are both points."""
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
        for number in (1, 5):  # both ways of writing, and a plain text
            with looking(browser) as page:
                page.goto(f"{shown.url}#/tsne/{number}?head=0.1")
                until(page, "document.querySelectorAll('[data-testid=layout]').length === 2", 60)
                settled(page)
                cross = next(one["index"] for one in layers_of(pairs) if one["kind"] == "cross")
                page.get_by_test_id("thumbnails").locator(f"[data-head='{cross}.0']").click()
                until(page, "document.querySelectorAll('[data-testid=layout]').length === 1")  # no states of its own
                settled(page)
                page.locator("#flow-keys-0").hover()
                until(page, "document.querySelectorAll('.ring').length === 1", 10)
    finally:
        shown.close()


def layers_of(atlas):
    """The layers, numbered."""
    return [one | {"index": number} for number, one in enumerate(atlas.header["model"]["layers"])]
