"""A walk through the tab of queries and keys: every head at once, one head large, search, lasso, three dimensions."""

from __future__ import annotations

import pytest

import headatlas as ha
from support.browser import location, until
from support.pages import as_files, looking, serving
from support.walking import PIXELS, accessible, export_as, lasso, sentence, settled

MARGINS = 52  # for the names of layers and heads
SEARCHED = "In 2016 the tide came late: snorkeling and unsubscribing were stopped until 2016 ended."
POINTS = f"{PIXELS}(document.querySelector('canvas[role=application]')).some(pixel => pixel)"
COLORED = f"""((canvas, rows, columns) => {{
  const pixels = new Uint8Array({PIXELS}(canvas).buffer), [w, h] = [canvas.width, canvas.height], lit = new Set();
  const side = Math.min((w - {MARGINS}) / columns, (h - {MARGINS}) / rows);
  for (let y = 0; y < h; y++) for (let x = 0; x < w; x++) {{
    const [r, g, b, a] = pixels.subarray(4 * (y * w + x), 4 * (y * w + x) + 4);
    if (a < 20 || Math.max(r, g, b) - Math.min(r, g, b) < 90) continue;
    const row = Math.floor((y - h / 2) / side + rows / 2), column = Math.floor((x - w / 2) / side + columns / 2);
    lit.add(row * columns + column);
  }}
  return lit.size; }})"""
PICTURE = "document.querySelector('canvas[role=application]').toDataURL()"
REMEMBER, CHANGED = f"window.before_ = {PICTURE}", f"window.before_ !== {PICTURE}"  # a picture is too large to send


@pytest.fixture(scope="module")
def atlas(tmp_path_factory):
    path = tmp_path_factory.mktemp("qk") / "qk.atlas"
    texts = [*(example.text for example in ha.data.load("sample", limit=2)), SEARCHED]
    atlas = ha.collect.maps("packaged", ha.data.load(texts), path, resolution=8)
    ha.qk.embed(atlas, "pca", dims=3, tokens=60)  # most of the time goes into pairs of tokens
    ha.qk.embed(atlas, "pca")
    return atlas


@pytest.fixture(scope="module")
def served(atlas):
    with serving(atlas) as url:
        yield url


@pytest.fixture(scope="module")
def site(atlas, tmp_path_factory):
    with as_files(atlas, tmp_path_factory.mktemp("export")) as url:
        yield url


@pytest.fixture(params=["served light", "site dark"])
def place(request):
    """The URL of the page, its theme, and whether it is live: both themes and both kinds, each once."""
    name, theme = request.param.split()
    return request.getfixturevalue(name), theme, name == "served"


def drawn(page):
    """Wait until points are on the canvas and nothing is loading."""
    settled(page)
    until(page, POINTS)


def cell(page, layer, head):
    """The pixel in the middle of a head's cell, found by hovering: the tooltip names it."""
    box = page.locator("canvas[role=application]").bounding_box()
    side = min((box["width"] - MARGINS) / 12, (box["height"] - MARGINS) / 6)
    x = box["x"] + box["width"] / 2 + (head - 5.5) * side
    y = box["y"] + box["height"] / 2 + (layer - 2.5) * side
    page.mouse.move(x, y)
    until(page, f"document.body.textContent.includes('L{layer}·H{head}')")
    return x, y


def test_the_matrix_shows_every_head_and_opens_one(browser, place, atlas):
    url, theme, _ = place
    with looking(browser, theme=theme) as page:
        page.goto(f"{url}#/qk")
        tokens = atlas.table("qk_points").num_rows
        sentence(page, "72 heads", f"{tokens:,} tokens", "misplaced")
        drawn(page)
        accessible(page)
        page.mouse.click(*cell(page, 0, 2))
        sentence(page, "L0·H2 groups queries and keys by position")
        assert "#/qk/0.2" in location(page) and "head=0.2" in location(page)
        settled(page)
        accessible(page)
        page.keyboard.press("ArrowRight")
        sentence(page, "L0·H3")
        page.evaluate(REMEMBER)
        page.get_by_label("Color by").select_option("norm")
        settled(page)
        until(page, CHANGED)
        page.mouse.dblclick(*cell(page, 2, 9))
        sentence(page, "L2·H9")
        assert "view=single" in location(page)
        page.get_by_role("link", name="Head", exact=True).click()
        sentence(page, "L2·H9")
        page.get_by_role("link", name="its queries and keys").click()
        sentence(page, "L2·H9 groups")


def colored(page):
    """The number of cells of the matrix that have colored pixels: what is not lit up is gray."""
    return page.evaluate(f"{COLORED}(document.querySelector('canvas[role=application]'), 6, 12)")


def test_a_search_lights_up_every_occurrence_in_all_heads(browser, served, atlas):
    tokens = atlas.table("tokens")["text"].take(atlas.table("qk_points")["token"]).to_pylist()
    with looking(browser) as page:
        page.goto(f"{served}#/qk")
        drawn(page)
        assert colored(page) == 72
        field, found = page.get_by_placeholder("the, 2016, ##ing"), page.get_by_test_id("found")
        field.fill("no such token")
        sentence(page, "“no such token” does not occur")
        until(page, f"{COLORED}(document.querySelector('canvas[role=application]'), 6, 12) === 0")
        for query, word in (("The", "the"), ("2016", "2016"), ("##ing", "##ing")):
            count = tokens.count(word)
            assert count > 1
            field.fill(query)
            sentence(page, f"“{query}” occurs {count} times")
            assert found.inner_text().split()[-1] == str(count)
            until(page, f"{COLORED}(document.querySelector('canvas[role=application]'), 6, 12) === 72")
        field.fill("The")
        page.get_by_label("Also within tokens").check()
        sentence(page, f"occurs {sum('the' in token for token in tokens)} times")
        assert found.inner_text().count("the") > 1  # the different tokens that contain it
        accessible(page)
        page.keyboard.press("Escape")  # the checkbox has the focus, which is no text field
        sentence(page, "72 heads")
        assert "q=" not in location(page) and field.input_value() == ""


def test_zoom_and_pan_of_the_matrix_are_in_the_address(browser, served):
    with looking(browser, theme="dark") as page:
        page.goto(f"{served}#/qk")
        drawn(page)
        before = page.evaluate(REMEMBER)
        page.get_by_role("button", name="Zoom in").click()
        until(page, "location.hash.includes('at=')")
        until(page, CHANGED)
        address = location(page)
        page.goto("about:blank")
        page.goto(address)
        drawn(page)
        page.evaluate("picture => { window.before_ = picture; }", before)
        page.get_by_role("button", name="All heads").click()
        until(page, "!location.hash.includes('at=')")
        until(page, f"!({CHANGED})")


def test_one_head_with_its_points_lines_and_lasso(browser, place, atlas):
    url, theme, live = place
    with looking(browser, theme=theme) as page:
        page.goto(f"{url}#/qk/0.2?view=single")
        sentence(page, "L0·H2 groups queries and keys by position", "misplaced")
        drawn(page)
        accessible(page)
        assert page.get_by_test_id("honesty").locator("canvas").count() == 1
        page.goto(f"{url}#/qk/0.2?view=single&point=7")
        sentence(page, "attends most to")
        settled(page)
        assert page.locator(".scatter line.link").count() >= 1
        example = atlas.table("qk_points")["example"][7].as_py()
        assert page.get_by_test_id("point").inner_text().count("as a query")
        if live:
            until(page, "document.querySelectorAll('[data-testid=in-space] li').length === 8")
            assert (
                "nearest" in page.get_by_test_id("agreement").inner_text()
                or "agree" in page.get_by_test_id("agreement").inner_text()
            )
        else:
            assert "no vectors" in page.get_by_test_id("point").inner_text()
        accessible(page)
        page.get_by_test_id("point").get_by_role("button", name="Clear").click()
        until(page, "!location.hash.includes('point=')")
        lasso(page)
        sentence(page, "selected:")
        rows = page.get_by_test_id("selected")
        assert "Tokens" in rows.inner_text() and "lasso=" in location(page)
        accessible(page)
        page.keyboard.press("Escape")
        until(page, "!location.hash.includes('lasso=')")
        name, content = export_as(page, page.locator(".main"), "SVG drawing")
        assert name == "queries-and-keys-0.2.svg" and content.startswith(b"<svg")
        assert example >= 0


def test_a_chosen_point_is_the_example_of_other_tabs(browser, served, atlas):
    last = atlas.table("qk_points").num_rows - 1
    example = atlas.table("qk_points")["example"][last].as_py()
    with looking(browser) as page:
        page.goto(f"{served}#/qk/1.4?view=single")
        drawn(page)
        page.goto(f"{served}#/qk/1.4?view=single&point={last}&example={example}")
        sentence(page, "L1·H4")
        page.get_by_role("link", name="on Examples").click()
        until(page, f"location.hash.startsWith('#/examples/{example}?')")
        assert "head=1.4" in location(page)
        sentence(page)
        page.get_by_role("link", name="Queries & keys", exact=True).click()
        sentence(page, "L1·H4")


def test_fading_changes_the_number_of_misplaced_points(browser, served):
    with looking(browser) as page:
        page.goto(f"{served}#/qk/3.1?view=single&fade=0")
        sentence(page, "no point is misplaced")
        page.goto(f"{served}#/qk/3.1?view=single&fade=100")
        sentence(page, "of points are misplaced")


def test_three_dimensions_turn(browser, served):
    with looking(browser) as page:
        page.goto(f"{served}#/qk/0.2?view=single&by=pca-3d")
        sentence(page, "L0·H2")
        drawn(page)
        page.evaluate(REMEMBER)
        box = page.locator("canvas[role=application]").bounding_box()
        page.mouse.move(box["x"] + 200, box["y"] + 200)
        page.mouse.down()
        page.mouse.move(box["x"] + 300, box["y"] + 230, steps=5)
        page.mouse.up()
        until(page, "location.hash.includes('turn=')")
        until(page, CHANGED)
        accessible(page)
        page.goto(f"{served}#/qk?by=pca-3d")
        sentence(page, "72 heads")
        drawn(page)


def test_without_webgl_the_page_says_so(blind, served):
    with looking(blind) as page:
        page.goto(f"{served}#/qk")
        sentence(page, "72 heads")
        until(page, "document.body.textContent.includes('no WebGL2')")
        assert page.locator("tbody tr").count() == 72
        page.goto(f"{served}#/qk/0.2?view=single&by=pca-3d")
        until(page, "document.body.textContent.includes('no WebGL2')")
        page.allowed[:] = [problem for problem in page.allowed if "WebGL" not in problem]


def test_without_plots_the_command_is_named(browser, images):
    shown = ha.web.open(images)
    try:
        with looking(browser) as page:
            page.goto(f"{shown.url}#/qk")
            sentence(page, "not drawn yet")
            assert "headatlas qk" in page.locator("main").inner_text()
    finally:
        shown.close()
