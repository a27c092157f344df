"""Nine questions of a newcomer, answered from the page alone: what is clicked and typed, and what can then be read.

Each question starts on the first page and returns its answer as text. `benchmarks/questions.py` counts clicks and
seconds; `tests/browser/test_web_questions.py` compares the answers with the atlas and the model.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from support.browser import until
from support.walking import export_as, sentence, settled

NAMES = "Mary met John in the park, and later Mary wrote to him."
PREVIOUS = "attention to the previous token"
SEPARATORS = "attention from other tokens to separators"


@dataclass
class Hand:
    """A person at the page: every click and every field that is typed into counts."""

    page: Any
    url: str
    clicks: int = 0

    def click(self, target: Any, **options: Any) -> None:
        """Click something."""
        self.clicks += 1
        target.click(**options)

    def choose(self, label: str, option: str) -> None:
        """Choose from a list: one click to open it, one to choose."""
        self.clicks += 2
        self.page.get_by_label(re.compile(rf"^\s*{label}")).select_option(label=option)

    def type(self, label: str, text: str, enter: bool = False) -> None:
        """Click a field and type into it."""
        self.clicks += 1
        field = self.page.get_by_label(label, exact=True)
        field.fill(text)
        if enter:
            field.press("Enter")

    def tab(self, name: str) -> None:
        """Go to a tab."""
        self.click(self.page.get_by_label("Tabs").get_by_role("link", name=name, exact=True))

    def search(self, head: str) -> None:
        """Find a head by its name and open it."""
        self.type("Search heads, clusters and examples", head)
        self.page.get_by_role("listbox", name="Search results").get_by_text(head).first.wait_for()
        self.page.keyboard.press("Enter")
        sentence(self.page, head)

    def open_first_head(self) -> str:
        """Open the first head of the ranked heads; its name."""
        box = self.page.get_by_test_id("head-grid").bounding_box()
        self.clicks += 2
        self.page.mouse.dblclick(box["x"] + 28, box["y"] + 40)
        until(self.page, "location.hash.startsWith('#/head/')")
        return head_in(sentence(self.page, "L"))


def head_in(text: str) -> str:
    """The first head that a text names.

    >>> head_in("L0·H2 attends to the previous token")
    'L0·H2'
    """
    return re.search(r"L\d+·H\d+", text)[0]


# the questions


def previous_token_head(hand: Hand) -> str:
    """Which head attends to the previous token?"""
    hand.choose("Sort by", PREVIOUS)
    return sentence(hand.page, PREVIOUS)


def separator_heads(hand: Hand) -> str:
    """Which heads rest on separators, and on which texts most?"""
    hand.choose("Sort by", SEPARATORS)
    sentence(hand.page, SEPARATORS)
    head = hand.open_first_head()
    texts = hand.page.get_by_role("region", name="Its texts")
    texts.get_by_role("row").nth(1).wait_for()
    header = texts.get_by_role("button", name=re.compile(f"^{SEPARATORS}"))
    if not header.count():
        hand.choose("Add", SEPARATORS)
    hand.click(header)
    until(hand.page, "location.hash.includes('order=down')")
    settled(hand.page)
    return f"{head}: {texts.get_by_role('row').nth(1).inner_text()}"


def with_quotations(hand: Hand) -> str:
    """What does L2·H9 do on texts with quotation marks, against those without?"""
    hand.search("L2·H9")
    hand.choose("Split by", "quotation marks")
    split = hand.page.get_by_test_id("split")
    split.wait_for()
    return split.locator(".difference").first.inner_text()


def same_job(hand: Hand) -> str:
    """Which heads do the same as L1·H8?"""
    hand.search("L1·H8")
    similar = hand.page.get_by_role("region", name="Most similar heads")
    similar.get_by_role("link").first.wait_for()
    return similar.get_by_role("link").first.inner_text()


def pattern_in_a_sentence(hand: Hand) -> str:
    """What is the pattern “same word elsewhere”, in one plain sentence?"""
    hand.tab("Clusters")
    node = hand.page.get_by_role("treeitem", name=re.compile("same word elsewhere.*at this level"))
    hand.click(node)
    sentence(hand.page, "ame word elsewhere")
    return hand.page.locator("p.pattern").first.inner_text()


def repeated_name(hand: Hand) -> str:
    """Which heads link the two mentions of a name in my own sentence?"""
    hand.tab("Examples")
    hand.type("Text", NAMES)
    hand.click(hand.page.get_by_role("button", name="Show its maps"))
    view = hand.page.get_by_role("group", name="View")
    hand.click(view.get_by_role("button", name="Text", exact=True))
    hand.click(hand.page.locator("[data-unit='1']"))
    between = hand.page.get_by_test_id("between")
    hand.click(between.get_by_role("button", name="“mary”"))
    between.locator("li").first.wait_for()
    return between.locator("li").first.inner_text()


def side_by_side(hand: Hand) -> str:
    """How do L0·H2 and L2·H9 look side by side, with their tokens?"""
    hand.search("L0·H2")
    hand.tab("Examples")
    settled(hand.page)
    hand.click(hand.page.get_by_role("link", name="tides-0"))
    hand.page.get_by_test_id("heat-map").first.wait_for()
    hand.type("Another text or head beside this one", "L2·H9", enter=True)
    until(hand.page, "document.querySelectorAll('[data-testid=beside] [data-testid=heat-map]').length === 2")
    settled(hand.page)
    return " | ".join(hand.page.locator("[data-testid=beside] h2").all_inner_texts())


def figure_for_a_paper(hand: Hand) -> str:
    """How do I get a vector figure of a head's map?"""
    hand.search("L0·H2")
    settled(hand.page)
    hand.clicks += 2
    name, content = export_as(hand.page, hand.page.get_by_role("region", name="Mean map of L0·H2"), "SVG")
    return f"{name}\n{content.decode()}"


def shared_link(hand: Hand) -> str:
    """How do I show this to a colleague?"""
    hand.choose("Sort by", PREVIOUS)
    expected = sentence(hand.page, PREVIOUS)
    hand.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    hand.click(hand.page.get_by_role("button", name="Copy link"))
    link = hand.page.evaluate("navigator.clipboard.readText()")
    with hand.page.context.new_page() as colleague:
        colleague.goto(link)
        assert sentence(colleague, PREVIOUS) == expected
    return link


QUESTIONS: tuple[Callable[[Hand], str], ...] = (
    previous_token_head,
    separator_heads,
    with_quotations,
    same_job,
    pattern_in_a_sentence,
    repeated_name,
    side_by_side,
    figure_for_a_paper,
    shared_link,
)


@dataclass(frozen=True)
class Answer:
    """How a question was answered."""

    name: str
    question: str
    answer: str
    clicks: int
    seconds: float


def answers(page: Any, url: str) -> Iterator[Answer]:
    """Every question in turn, each from the first page on."""
    page.set_default_timeout(60_000)  # the model is loaded on the way
    for ask in QUESTIONS:
        page.goto("about:blank")
        page.goto(url)
        sentence(page, "patterns")
        settled(page)
        hand, start = Hand(page, url), time.monotonic()
        text = ask(hand)
        yield Answer(ask.__name__, str(ask.__doc__), text, hand.clicks, time.monotonic() - start)
