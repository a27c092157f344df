"""Words and numbers for people, and never more than is known."""

from __future__ import annotations

import re
import textwrap


def amount(value: float) -> str:
    """A number in two digits; never 1 unless it is.

    >>> amount(0.934), amount(-39.87), amount(0.0031), amount(0.9996), amount(123.4)
    ('0.93', '−40', '0.0031', '> 0.99', '123')
    """
    if 0.995 <= value < 1:
        return "> 0.99"
    text = f"{value:.0f}" if abs(value) >= 99.5 else f"{value:.2g}"
    return text.replace("-", "−")


def ratio(value: float) -> str:
    """A measure between 0 and 1; never 1.00 unless it is.

    >>> ratio(0.885), ratio(0.998), ratio(1.0)
    ('0.89', '> 0.99', '1.00')
    """
    return "> 0.99" if 0.995 <= value < 1 else f"{value:.2f}".replace("-", "−")


def together(text: str) -> str:
    """The same text with what belongs together held together where lines are broken.

    >>> together("broad, 12 % 2").count(chr(160))
    2
    """
    for part in (" %", " (L", " (>", " (<", " · "):
        text = text.replace(part, part.replace(" ", "\u00a0", 1))
    text = re.sub(r"([<>]) (?=\d)", "\\1\u00a0", text)
    return re.sub(r" (\d+)$", "\u00a0\\1", text)


def shorten(heads: str, lines: int, fit: int) -> list[str]:
    """A list of heads that ends with how many more there are, in so many lines of `fit` characters.

    >>> shorten("L0·H1 (99 %), L0·H2 (98 %), L0·H3 (97 %), 2 more", 1, 32)
    ['L0·H1\\xa0(99\\xa0%), 4\\xa0more']
    """
    parts = [part.strip() for part in heads.split(",") if part.strip()]
    more = int(parts.pop().split()[0]) if parts and parts[-1].endswith(" more") else 0
    while True:
        said = ", ".join([*parts, f"{more} more"] if more else parts)
        found = textwrap.wrap(together(said.replace(" (", "\u00a0(")).replace(" more", "\u00a0more"), fit)
        if len(found) <= lines or not parts:
            return found[:lines]
        parts, more = parts[:-1], more + 1
