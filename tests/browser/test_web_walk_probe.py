"""The walk: what heads look at and write, a relation with its sentences, a head in sentences, a search, an export."""

from __future__ import annotations

import pytest

import headatlas as ha
from headatlas.web.export import export
from headatlas.wording import interval, percent
from support.browser import location
from support.pages import file_server, looking
from support.treebank import SENTENCES, write_treebank
from support.walking import accessible, sentence, settled


@pytest.fixture(scope="module")
def treebank(tmp_path_factory):
    folder = tmp_path_factory.mktemp("probe")
    data = f"conllu:{write_treebank(folder / 'small.conllu', 24)}"
    atlas = ha.collect.maps("packaged", data, folder / "x.atlas", resolution=8, qk_tokens=0)
    for analysis in (ha.probe.surface, ha.probe.syntax, ha.probe.distances, ha.probe.writes, ha.probe.parking):
        analysis(atlas)
    ha.probe.detect(atlas, repeats=20)
    return atlas


@pytest.fixture(scope="module")
def url(treebank):
    shown = ha.web.open(treebank)
    yield shown.url
    shown.close()


def test_findings_grids_and_what_is_missing(browser, url):
    with looking(browser) as page:
        page.goto(f"{url}#/probe")
        sentence(page, "1 head puts over half of its attention on the previous token: L0·H2")
        settled(page)
        order = page.get_by_test_id("measure-heads").locator("tbody tr")
        assert order.first.inner_text().startswith("L0·H2") and order.count() == 12
        page.get_by_label("Measure").select_option("next")
        page.get_by_role("heading", name="Attention to the next token").wait_for()
        assert "measure=next" in location(page)
        accessible(page)
        page.get_by_role("link", name="Spectrum").click()
        page.get_by_text("This analysis has not been run.").wait_for()
        assert "headatlas probe spectrum" in page.locator("main code").first.inner_text()
        assert "headatlas probe all" in page.get_by_label("Analyses", exact=True).first.locator("code").inner_text()


def test_roles_as_grids_lead_to_their_heads(browser, url, treebank):
    rows = [row for row in treebank.table("probe_detect").to_pylist() if row["on"] == "texts"]
    following = sorted((row for row in rows if row["detector"] == "next"), key=lambda row: -row["effect"])
    with looking(browser) as page:
        page.goto(f"{url}#/probe/detect")
        sentence(page, "of 72 heads have a role: ")
        settled(page)
        tiles = page.get_by_test_id("roles").locator(".tile")
        table = treebank.table("probe_detect").to_pylist()
        assert tiles.count() == len({(row["detector"], row["on"]) for row in table if row["score"] is not None})
        shown = page.get_by_test_id("role-heads")
        assert shown.locator("tbody tr").first.inner_text().startswith("L0·H2")  # the first role: previous token
        tile = page.get_by_test_id("roles").get_by_role("button", name="Next-token head")
        having = sum(row["role"] for row in following)
        assert f"{having} head" in tile.inner_text()
        tile.click()
        page.get_by_role("region", name="Next-token head").wait_for()
        assert "role=next.texts" in location(page) and tile.get_attribute("aria-pressed") == "true"
        first, best = shown.locator("tbody tr").first, following[0]
        score = interval(best["score"], best["low"], best["high"], percent)
        assert first.inner_text().split("\t")[0].strip() == f"L{best['layer']}·H{best['head']}"
        assert score in first.inner_text().replace("\u00a0", " ")
        assert shown.locator("tbody circle.strong").count() == min(having, 12)
        accessible(page)
        shown.get_by_role("link", name=f"L{best['layer']}·H{best['head']}").click()
        leading = page.get_by_test_id("head-leading")
        leading.wait_for()
        assert "Next-token head: " in leading.inner_text()


def test_a_cell_of_a_role_selects_its_head(browser, url):
    with looking(browser) as page:
        page.goto(f"{url}#/probe/parking")
        settled(page)
        grid = page.get_by_test_id("roles").get_by_role("img").nth(1)
        grid.click(position={"x": 26 + 10 * 9 + 5, "y": 16 + 10 * 2 + 5})  # L2·H9
        assert "head=2.9" in location(page) and "role=" in location(page)
        page.locator(".detail").get_by_role("link", name="L2·H9").first.wait_for()
        grid.dblclick(position={"x": 26 + 10 * 9 + 5, "y": 16 + 10 * 2 + 5})
        page.get_by_role("region", name="What it looks at and writes").wait_for()


def test_a_relation_opens_its_sentences(browser, url, treebank):
    rows = {row["relation"]: row for row in treebank.table("probe_relations").to_pylist()}
    cases = [case for case in treebank.table("probe_syntax_cases").to_pylist() if case["relation"] == "amod"]
    with looking(browser) as page:
        page.goto(f"{url}#/probe/syntax")
        table = page.get_by_test_id("relations")
        table.get_by_role("button", name="amod").click()
        shown = page.get_by_test_id("cases")
        shown.wait_for()
        settled(page)
        head = f"L{rows['amod']['layer']}·H{rows['amod']['head']}"
        assert shown.inner_text().startswith(f"{head} finds ")
        right = [case for case in cases if case["right"]] or cases
        assert shown.locator(".case").count() == len(right)
        assert shown.locator("svg[role=img] path.tip").count() >= len(right)
        ends = {SENTENCES[case["example"] % 2][case[end]][0] for case in right for end in ("query", "gold")}
        assert ends <= set(shown.locator("svg[role=img] text").all_text_contents())
        accessible(page)
        table.get_by_role("link", name=head).first.click()
        page.get_by_role("button", name="All analyses").click()
        section = page.get_by_test_id("head-probe")
        section.wait_for()
        assert "adjective" in section.inner_text() and "Attends most like" in section.inner_text()


def test_heads_as_points_lead_to_heads(browser, url, treebank):
    with looking(browser) as page:
        page.goto(f"{url}#/probe/distances")
        page.get_by_test_id("head-points").get_by_role("link", name="L0·H2").click()
        region = page.get_by_role("region", name="What it looks at and writes")
        region.get_by_test_id("head-leading").wait_for()
        first = region.get_by_test_id("head-leading").locator("li").first.inner_text()
        assert first.startswith("Detect") and "Previous-token head: >99%" in first
        assert region.get_by_test_id("head-probe").count() == 0
        region.get_by_role("button", name="All analyses").click()
        text = page.get_by_test_id("head-probe").inner_text()
        assert "of its attention on the previous token" in text and "Moves most between these tokens" in text
        done = treebank.results("probe")
        possible = [
            name for name, kind in ha.probe.ANALYSES.items() if name not in done and not kind().missing(treebank)
        ]
        assert {"randomness", "spectrum"} <= set(possible) and "coref" not in possible
        page.get_by_text(f"Also possible: {', '.join(possible)}").wait_for()
        settled(page)
        accessible(page)


def test_pairs_of_the_selected_head(browser, url, treebank):
    with looking(browser) as page:
        page.goto(f"{url}#/probe/writes?head=1.4")
        rows = [row for row in treebank.table("probe_pairs").to_pylist() if (row["layer"], row["head"]) == (1, 4)]
        page.get_by_text(f"Only L1·H4: {len(rows)} rows").wait_for()
        assert rows[0]["query_token"] in page.get_by_test_id("probe_pairs").locator("tbody tr.row").first.inner_text()


def test_a_search_over_heads(browser, url, treebank):
    best = ha.probe.search(treebank, {"upos": "VERB"}, {"relation": "obj"}, examples=100).to_pylist()[0]
    with looking(browser) as page:
        page.goto(f"{url}#/probe/search")
        page.get_by_label("From tokens with: add a condition").select_option("upos")
        page.get_by_label("part of speech (upos)", exact=True).select_option("VERB")
        page.get_by_label("To tokens with: add a condition").select_option("relation")
        page.get_by_label("relation from the source", exact=True).select_option("obj")
        page.get_by_role("button", name="Search", exact=True).click()
        sentence(page, f"From upos = VERB to relation = obj, L{best['layer']}·H{best['head']} attends most")
        settled(page)
        first = page.get_by_test_id("found").locator("tbody tr").first
        assert first.inner_text().startswith(f"L{best['layer']}·H{best['head']}")
        accessible(page)


def test_an_exported_page_has_the_tab_without_the_search(browser, treebank, tmp_path):
    export(treebank, tmp_path / "site", full=0)
    with file_server(tmp_path / "site") as address, looking(browser) as page:
        page.goto(f"{address}#/probe/syntax?relation=amod")
        page.get_by_test_id("cases").wait_for()
        assert page.get_by_role("link", name="Search over heads").count() == 0
        page.goto(f"{address}#/head/0.2")
        page.get_by_test_id("head-leading").wait_for()
        page.goto(f"{address}#/probe/detect?role=next.texts")
        page.get_by_role("region", name="Next-token head").wait_for()
