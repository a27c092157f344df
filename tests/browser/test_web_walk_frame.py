"""What surrounds the tabs, in a real browser: the tour, the headline, names, and how soon data is requested."""

from __future__ import annotations

import re

from headatlas.statistics import STATISTICS
from support.browser import until
from support.pages import looking
from support.walking import sentence, settled

COVERED = """(() => {
  const box = selector => document.querySelector(selector)?.getBoundingClientRect();
  const [tour, about] = [box('.tour'), box('.about')];
  if (!tour || !about) return null;
  const across = Math.min(tour.right, about.right) - Math.max(tour.left, about.left);
  const down = Math.min(tour.bottom, about.bottom) - Math.max(tour.top, about.top);
  const inside = tour.left >= 0 && tour.top >= 0 && tour.right <= innerWidth && tour.bottom <= innerHeight;
  return [Math.max(0, across) * Math.max(0, down), inside];
})()"""
TEXTS = """[document.body.innerText, ...[...document.querySelectorAll('[title], [aria-label]')].flatMap(
  element => [element.getAttribute('title') ?? '', element.getAttribute('aria-label') ?? ''])].join('\\n')"""


def test_the_tour_covers_nothing_of_what_it_describes(browser, live):
    with looking(browser) as page:
        page.goto(live)
        sentence(page)
        page.get_by_role("button", name="Tour").click()
        while True:
            settled(page)
            covered, inside = until(page, COVERED)
            page.wait_for_timeout(400)  # it is placed again when the tab has loaded
            covered, inside = page.evaluate(COVERED)
            assert inside and covered == 0, page.get_by_role("dialog").inner_text()
            if page.get_by_role("button", name="Done").count():
                break
            page.get_by_role("button", name="Next", exact=True).click()


def test_the_headline_follows_what_is_chosen(browser, live, demo):
    names = list(demo.array("stats").attrs["stats"])
    means = demo.read("stats")[..., names.index("entropy_relative")].mean(0)
    layer, head = divmod(int(means.argmax()), means.shape[1])
    with looking(browser) as page:
        page.goto(live)
        sentence(page, "patterns")
        page.get_by_label("Color by").select_option(label="relative entropy of attention")
        sentence(page, f"Colored by relative entropy of attention: L{layer}·H{head} is highest")
        page.get_by_label("Sort by").select_option(label="relative entropy of attention")
        sentence(page, f"Sorted by relative entropy of attention: L{layer}·H{head} is highest")
        page.get_by_role("button", name="largest first").click()
        sentence(page, "is lowest", f"L{layer}·H{head} highest")
        page.get_by_label("Sort by").select_option(label="layer and head")
        page.get_by_label("Color by").select_option(label="mix of clusters")
        sentence(page, "patterns")


def test_heads_are_requested_while_the_tab_is_loading(browser, live):
    with looking(browser) as page:
        page.goto(live)
        until(page, "performance.getEntriesByName('overview:first').length")
        timing = page.evaluate(
            "Object.fromEntries(performance.getEntriesByType('resource').map(entry =>"
            " [entry.name.split('/').pop().replace(/-.*\\.js$/, ''), [entry.startTime, entry.responseEnd]]))"
        )
        assert timing["heads.json"][0] < timing["Overview"][1] and timing["maps.bin"][0] < timing["Overview"][1]


def test_no_internal_name_is_shown(browser, live):
    internal = re.compile("|".join(sorted(s.name for s in STATISTICS if "_" in s.name)) + r"|\bn_tokens\b|\bn_target\b")
    with looking(browser) as page:
        for path in ("overview", "maps?color=stat.just_before&head=3.5", "clusters", "clusters/3", "data",
                     "head/3.5?split=n_tokens&stats=stat.just_before", "examples/4?head=3.5"):  # fmt: skip
            page.goto(f"{live}#/{path}")
            sentence(page)
            settled(page)
            for row in page.locator("td, [data-statistic]").all()[:40]:
                if row.is_visible():
                    row.hover(force=True)
                shown = page.evaluate(TEXTS)
                assert not internal.search(shown), (path, internal.search(shown))
