"""The walk: null models beside every pattern, and why heads treat an example unlike others; served and exported."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from support.browser import location
from support.pages import as_files, looking, serving
from support.walking import accessible, export_as, sentence, settled


@pytest.fixture(scope="module", params=["served", "exported"])
def url(request, null_images, tmp_path_factory):
    live = request.param == "served"
    with serving(null_images) if live else as_files(null_images, tmp_path_factory.mktemp("null-site")) as address:
        yield address


def test_null_models_stand_beside_patterns(browser, url, null_images):
    rows = null_images.table("null_shares", "kmeans").to_pylist()
    cluster = max((row for row in rows if row["cluster"] is not None), key=lambda row: row["share_real"])["cluster"]
    with looking(browser) as page:
        page.goto(f"{url}#/overview")
        settled(page)
        heads = null_images.table("null_heads", "kmeans").to_pylist()
        jobs = sum(row["one_job"] for row in heads if row["kind"] == "untrained")
        nulls = page.get_by_test_id("nulls").all_inner_texts()
        assert nulls[0].startswith(f"{jobs} of 12 with random weights, ") and len(nulls) == 3
        page.get_by_role("button", name="How to read it").click()
        page.get_by_text("no evidence of learning").wait_for()
        accessible(page)
        page.goto(f"{url}#/clusters")
        settled(page)
        assert "of it stays with random weights" in page.locator(f"article.card[data-cluster='{cluster}']").inner_text()
        page.goto(f"{url}#/clusters/{cluster}")
        figure = page.get_by_role("region", name="Without training, without word order")
        figure.wait_for()
        texts = figure.locator("tbody tr").all_inner_texts()
        assert [text.split("\t")[0].strip() for text in texts] == [
            "The model itself", "With random weights", "With its weights shuffled",
        ]  # fmt: skip
        _, table = export_as(page, figure, "CSV")
        exported = {row["kind"]: row for row in csv.DictReader(io.StringIO(table.decode()))}
        for row in rows:
            if row["cluster"] == cluster:
                for name in ("share", "share_real", "kept"):
                    assert float(exported[row["kind"]][f"{name} [share of maps]"]) == pytest.approx(row[name], abs=1e-6)
        accessible(page)


def test_heads_that_treat_an_image_unlike_others(browser, url, null_images):
    unlike = null_images.read("unlike", of="kmeans") > 1
    counts = unlike.sum((1, 2))
    example = int(counts.argmax())
    expected = f"{counts.mean():.1f} expected by chance"
    with looking(browser, theme="dark") as page:
        page.goto(f"{url}#/examples?sort=unlike&order=down")
        sentence(page, f"{counts[example]} of 12, {expected}")
        first = page.get_by_test_id("examples").locator("tr.row").first
        assert f"{counts[example]}" in first.inner_text()
        page.goto(f"{url}#/examples/{example}")
        sentence(page, f"{counts[example]} of 12 heads", expected)
        settled(page)
        amounts = null_images.read("unlike", of="kmeans")[example]
        layer, head = np.unravel_index(np.nanargmax(amounts), amounts.shape)
        entries = page.get_by_test_id("unlike").locator("li")
        assert entries.first.inner_text().startswith(f"L{layer}·H{head}")
        assert entries.count() == min(6, counts[example]) and entries.first.locator("canvas").count() == 2
        entries.first.get_by_role("link").click()
        assert f"heads={layer}.{head}" in location(page)
        accessible(page)
