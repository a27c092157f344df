"""The tab Data in a real browser: histograms of the columns, and filters that intersect."""

from support.browser import location
from support.pages import looking
from support.walking import accessible, sentence, settled


def test_bars_filter_the_texts(browser, place):
    url, theme, _ = place
    with looking(browser, theme=theme) as page:
        page.goto(f"{url}#/data")
        unfiltered = sentence(page, "140 texts", "tokens each")
        settled(page)
        accessible(page)
        columns, listed = page.get_by_test_id("columns"), page.get_by_test_id("matching").locator("li")
        assert listed.count() == 140
        topic = columns.get_by_label("topic", exact=True)
        bar = topic.get_by_role("button", name="topic ").first
        bar.click()
        assert "in.topic=" in location(page) and bar.get_attribute("aria-pressed") == "true"
        sentence(page, "of 140 texts: topic")
        part = listed.count()
        assert 0 < part < 140
        length = columns.get_by_label("tokens", exact=True).get_by_role("button", name="tokens ")
        fullest = max(range(length.count()), key=lambda at: length.nth(at).locator(".some").bounding_box()["height"])
        length.nth(fullest).click()
        sentence(page, "of 140 texts: tokens", "and topic")
        assert 0 < listed.count() <= part
        address = location(page)
        page.reload()
        settled(page)
        assert location(page) == address and 0 < listed.count() <= part
        page.get_by_role("button", name="Clear filters").click()
        assert sentence(page, "tokens each") == unfiltered and listed.count() == 140
        listed.first.get_by_role("link").click()
        assert "#/examples/0" in location(page)
