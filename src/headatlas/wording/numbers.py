"""Numbers as text, by one set of rules; the page has the same in frontend/src/lib/wording/numbers.ts.

>>> amount(0.0314), percent(0.934), ratio(0.885), p_value(0.0131), many(1204, "map")
('0.031', '93%', '0.89', '0.013', '1,204 maps')

- Nothing looks like 0 or 1 that is not: such values are written with `<` or `>`.
- What is unknown (None, NaN, infinite) is "–".
- The minus sign is "−"; there is no minus zero.
- Halves are rounded away from zero.
- From 1,000 on, digits are grouped by commas; from 10^15 on, a power of ten is written: 1.2e15.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import TypeGuard

UNKNOWN = "–"
MINUS = "−"
HUGE = 1e15  # from here on digits would exceed the precision of a float


def _known(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)


def _fixed(value: float, digits: int) -> str:
    """A number with `digits` decimals, or as a power of ten if it is huge."""
    if abs(value) >= HUGE:
        return _scientific(value)
    step = Decimal(1).scaleb(-digits)
    text = f"{Decimal(abs(float(value))).quantize(step, ROUND_HALF_UP):,}"
    return f"{MINUS}{text}" if value < 0 else text


def _scientific(value: float) -> str:
    """A number as two digits and a power of ten."""
    exact = Decimal(abs(float(value)))
    power = exact.adjusted()
    digits = exact.scaleb(-power).quantize(Decimal("0.1"), ROUND_HALF_UP)
    if digits == 10:
        digits, power = Decimal("1.0"), power + 1
    return f"{MINUS if value < 0 else ''}{digits}e{power}"


def _near(value: float, tiny: float, least: str, most: str) -> str:
    """`<0.001` for a value that would look like 0, `>0.99` for one that would look like 1; else nothing."""
    if 0 < abs(value) < tiny:
        return f"<{least}" if value > 0 else f">{MINUS}{least}"
    if 0.995 <= abs(value) < 1:
        return f">{most}" if value > 0 else f"<{MINUS}{most}"
    return ""


def count(value: int) -> str:
    """A whole number.

    >>> count(1204), count(-3)
    ('1,204', '−3')
    """
    return f"{value:,}".replace("-", MINUS)


def many(value: int, what: str) -> str:
    """A number of things.

    >>> many(1, "text"), many(1204, "text")
    ('1 text', '1,204 texts')
    """
    return f"{count(value)} {what}" + ("" if value == 1 else "s")


def percent(share: float | None) -> str:
    """A share in whole percent; 0% and 100% only if it is.

    >>> percent(0.934), percent(0.9996), percent(0.00021), percent(1)
    ('93%', '>99%', '<1%', '100%')
    """
    if not _known(share):
        return UNKNOWN
    return _near(share, 0.005, "1%", "99%") or f"{_fixed(100 * share, 0)}%"


def amount(value: float | None) -> str:
    """Any quantity in two significant digits, or in whole numbers from 100 on; 0 and 1 only if it is.

    >>> amount(0.934), amount(-39.87), amount(0.0031), amount(0.9996), amount(1234.5), amount(2), amount(1)
    ('0.93', '−40', '0.0031', '>0.99', '1,235', '2.0', '1')
    """
    if not _known(value):
        return UNKNOWN
    size = abs(value)
    digits = 0 if size in (0, 1) else sum(1 for limit in (9.95, 0.995, 0.0995, 0.00995) if size < limit)
    return _near(value, 0.001, "0.001", "0.99") or _fixed(value, digits)


def ratio(value: float | None) -> str:
    """A measure between −1 and 1 with two decimals; 0.00 and 1.00 only if it is.

    >>> ratio(0.885), ratio(0.998), ratio(1.0), ratio(0.002), ratio(-0.05)
    ('0.89', '>0.99', '1.00', '<0.01', '−0.05')
    """
    return (_near(value, 0.005, "0.01", "0.99") or _fixed(value, 2)) if _known(value) else UNKNOWN


def signed(value: float | None) -> str:
    """An amount with its sign.

    >>> signed(2.31), signed(-0.5), signed(0)
    ('+2.3', '−0.50', '0')
    """
    plus = _known(value) and value > 0 and not _near(value, 0.001, "0.001", "0.99")
    return f"+{amount(value)}" if plus else amount(value)


def p_value(p: float | None) -> str:
    """A p-value: two decimals, three below 0.1; never 0, and 1 only if it is.

    >>> p_value(0.17), p_value(0.0131), p_value(0.0002), p_value(1)
    ('0.17', '0.013', '<0.001', '1')
    """
    sign, text = _probability(p)
    return text if sign == "=" else f"{sign}{text}"


def p_equation(p: float | None, symbol: str = "p") -> str:
    """A p-value in a sentence.

    >>> p_equation(0.0131), p_equation(0.0002, "q")
    ('p = 0.013', 'q < 0.001')
    """
    sign, text = _probability(p)
    return f"{symbol} {sign} {text}"


def _probability(p: float | None) -> tuple[str, str]:
    if not _known(p):
        return "=", UNKNOWN
    if p < 0.001:
        return "<", "0.001"
    if 0.995 <= p < 1:
        return ">", "0.99"
    return "=", "1" if p >= 1 else _fixed(p, 2 if p >= 0.0995 else 3)


def interval(
    value: float | None, low: float | None, high: float | None, form: Callable[[float | None], str] = ratio
) -> str:
    """A number with its interval, if that is known.

    >>> interval(0.93, 0.9, 0.954), interval(12, None, None, amount)
    ('0.93 [0.90, 0.95]', '12')
    """
    return f"{form(value)} [{form(low)}, {form(high)}]" if _known(low) and _known(high) else form(value)


def join_list(parts: Sequence[str]) -> str:
    """A list as part of a sentence.

    >>> join_list(["L0·H1"]), join_list(["L0·H1", "L0·H2"]), join_list(["L0·H1", "L0·H2", "3 more"])
    ('L0·H1', 'L0·H1 and L0·H2', 'L0·H1, L0·H2, and 3 more')
    """
    if len(parts) < 3:
        return " and ".join(parts)
    return f"{', '.join(parts[:-1])}, and {parts[-1]}"


def duration(seconds: float) -> str:
    """A time in one or two words, rounded as one would say it.

    >>> duration(8.3), duration(95), duration(620), duration(9000), duration(400_000)
    ('8 seconds', '95 seconds', '10 minutes', '2.5 hours', '4.6 days')
    """
    for unit, size, digits in (("day", 86_400, 1), ("hour", 3_600, 1), ("minute", 60, 0)):
        if seconds >= 2 * size:
            return f"{_fixed(seconds / size, digits)} {unit}s"
    whole = max(1, round(seconds))
    return many(whole, "second")


def file_size(size: float) -> str:
    """Bytes as people read them.

    >>> file_size(812), file_size(64_000), file_size(1_200_000), file_size(416_000_000), file_size(1.8e9)
    ('<1 KB', '64 KB', '1.2 MB', '416 MB', '1.8 GB')
    """
    for unit, bytes_of_unit in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if size >= bytes_of_unit:
            value = size / bytes_of_unit
            return f"{_fixed(value, 0 if value >= 10 else 1)} {unit}"
    return "<1 KB"


def capitalize(text: str) -> str:
    """A text with its first letter in upper case.

    >>> capitalize("previous token"), capitalize("")
    ('Previous token', '')
    """
    return text[:1].upper() + text[1:]
