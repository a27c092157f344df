"""A walk through a tree of patterns: the level that three tabs follow, the tree as a list, and pages of its nodes."""

from __future__ import annotations

import csv
import io

import pytest

import headatlas as ha
from headatlas import cluster
from support.browser import location, until
from support.pages import as_files, looking, serving
from support.walking import accessible, saved, sentence, settled

LEGEND = "document.querySelectorAll('[aria-label=\"Clusters, the largest first\"] button.row')"
COLORS = f"[...{LEGEND}].map(row => row.querySelector('svg [fill], svg [stroke]')?.outerHTML).join()"
PICTURE = "[...document.querySelectorAll('.main canvas')].map(canvas => canvas.toDataURL()).join()"


@pytest.fixture(scope="module")
def atlas(tmp_path_factory):
    path = tmp_path_factory.mktemp("tree") / "tree.atlas"
    texts = ha.data.load("sample", limit=30)
    return ha.pipeline.run("packaged", texts, path, encoder="pooled", methods=["tree"], permutations=99)


@pytest.fixture(scope="module")
def nodes(atlas):
    return atlas.table("nodes").to_pylist()


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
    name, theme = request.param.split()
    return request.getfixturevalue(name), theme


def test_overview_follows_the_level(browser, place, nodes):
    url, theme = place
    default = sum(row["cut"] for row in nodes)
    with looking(browser, theme=theme) as page:
        page.goto(f"{url}#/overview")
        sentence(page, f"{default} patterns")
        settled(page)
        assert until(page, f"{LEGEND}.length") == default
        colors, picture = page.evaluate(COLORS), page.evaluate(PICTURE)
        page.get_by_role("button", name="coarser").click()
        sentence(page, f"{default - 1} patterns")
        assert page.evaluate(f"{LEGEND}.length") == default - 1
        page.evaluate("""(slider => { slider.value = 4; slider.dispatchEvent(new Event("input", { bubbles: true })); })(
            document.querySelector("input[type=range]"))""")
        sentence(page, "4 patterns")
        assert "level=4" in location(page) and page.evaluate(f"{LEGEND}.length") == 4
        assert page.evaluate(COLORS) != colors
        until(page, f"({PICTURE}) !== {picture!r}")
        accessible(page)
        page.keyboard.press("]")
        sentence(page, "5 patterns")
        for _ in range(3):  # at most: changes in quick succession are one step
            if "level" in location(page):
                page.go_back()
        sentence(page, f"{default} patterns")
        assert "level" not in location(page) and page.evaluate(COLORS) == colors
        until(page, f"({PICTURE}) === {picture!r}")


def test_all_tabs_share_the_level(browser, place):
    url, theme = place
    with looking(browser, theme=theme) as page:
        page.goto(f"{url}#/maps?level=6")
        sentence(page, "6 patterns")
        settled(page)
        rows = "document.querySelectorAll('[data-testid=legend] label').length"
        until(page, f"{rows} === 6")
        page.locator("[data-testid=legend] label").first.click()
        sentence(page, "maps in “")
        page.get_by_role("button", name="Show all again").click()
        sentence(page, "6 patterns")
        accessible(page)
        page.get_by_role("link", name="Clusters", exact=True).click()
        until(page, "document.querySelectorAll('.row.at').length === 6")
        sentence(page, "6 patterns")
        page.get_by_role("link", name="Overview", exact=True).click()
        until(page, f"{LEGEND}.length === 6")
        page.get_by_role("button", name="default:").click()
        until(page, "!location.hash.includes('level')")


def test_the_tree_is_walked_by_keys_and_its_rows_open_pages(browser, place, atlas, nodes):
    url, theme = place
    cut = cluster.nodes_at(atlas.table("nodes"), 3)
    inner = next(node for node in cut if nodes[node]["cluster"] is None)
    with looking(browser, theme=theme) as page:
        page.goto(f"{url}#/clusters?level=3")
        sentence(page, "3 patterns")
        settled(page)
        assert sorted(int(row.get_attribute("data-node")) for row in page.locator(".row.at").all()) == sorted(cut)
        accessible(page)
        page.get_by_role("treeitem").first.focus()
        page.keyboard.press("ArrowRight")
        focused = "document.activeElement.dataset.node"
        assert nodes[int(page.evaluate(focused))]["parent"] == 0
        page.keyboard.press("ArrowLeft")
        assert page.evaluate(focused) == "0"
        page.locator(f"[data-node='{inner}']").click()
        until(page, f"location.hash.startsWith('#/clusters/{1000 + inner}')")
        sentence(page, f"{nodes[inner]['maps']:,} maps")
        settled(page)
        page.get_by_text("Tests and typical maps are of these, not of the whole.").wait_for()
        assert f"{nodes[inner]['stability']:.2f} [" in page.get_by_role("complementary").inner_text()
        accessible(page)
        page.get_by_role("link", name="Its maps in the projection").click()
        sentence(page, f"{nodes[inner]['maps']:,} maps")
        assert f"only={1000 + inner}" in location(page)
        page.go_back()
        sentence(page, f"{nodes[inner]['maps']:,} maps")
        page.go_back()
        sentence(page, "3 patterns")
        page.locator(f"[data-node='{inner}']").focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        until(page, f"location.hash.startsWith('#/clusters/') && !location.hash.includes('{1000 + inner}')")


def test_a_cluster_page_is_the_same_at_every_level(browser, served, atlas, nodes):
    row = max(atlas.table("clusters").to_pylist(), key=lambda row: row["maps"])
    with looking(browser) as page:
        texts = []
        for query in ("", "?level=3"):
            page.goto(f"{served}#/clusters/{row['cluster']}{query}")
            texts.append(sentence(page, f"{row['maps']:,} maps"))
            settled(page)
            page.get_by_label("What defines it", exact=True).wait_for()
        assert texts[0] == texts[1]
        node = next(node for node in nodes if node["cluster"] == row["cluster"])
        page.get_by_role("complementary").locator("dl").get_by_role("link").first.click()
        until(page, f"location.hash.startsWith('#/clusters/{1000 + node['parent']}')")
        page.goto(f"{served}#/clusters/1999")
        sentence(page, "There is no cluster 1999")


def test_cards_and_the_table_of_the_tree(browser, served, nodes):
    with looking(browser) as page:
        page.goto(f"{served}#/clusters?level=4&view=cards")
        sentence(page, "4 patterns")
        settled(page)
        assert page.locator("article.card").count() == 4
        accessible(page)
        page.get_by_role("button", name="Tree", exact=True).click()
        page.get_by_role("tree").wait_for()
        page.locator(".foot").get_by_role("button", name="Export").click()
        _, content = saved(page, lambda: page.get_by_role("menuitem", name="CSV").click())
        rows = list(csv.DictReader(io.StringIO(content.decode())))
        assert [int(row["maps"]) for row in rows] == [nodes[int(row["node"])]["maps"] for row in rows]
        assert len(rows) == page.get_by_role("treeitem").count()


def test_a_small_screen(browser, served):
    with looking(browser, size=(390, 844)) as page:
        for tab in ("overview", "maps", "clusters"):
            page.goto(f"{served}#/{tab}?level=7")
            sentence(page, "7 patterns")
            settled(page)
            page.get_by_role("group", name="Level of the tree").wait_for()
            assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_other_clusterings_have_no_level(browser, atlas):
    cluster.kmeans(atlas, k=5)
    shown = ha.web.open(atlas)
    try:
        with looking(browser) as page:
            page.goto(f"{shown.url}#/overview?of=kmeans&level=3")
            sentence(page, "5 patterns")
            settled(page)
            assert page.get_by_role("group", name="Level of the tree").count() == 0
            page.locator(".foot").get_by_role("combobox", name="Clusters").select_option("tree")
            page.get_by_role("group", name="Level of the tree").wait_for()
            assert "level" not in location(page)
    finally:
        shown.close()
