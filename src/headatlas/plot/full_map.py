"""One full attention map with its tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath
from numpy.typing import NDArray

from headatlas.plot.style import SMALL, Page
from headatlas.wording import head_name

if TYPE_CHECKING:
    from headatlas.models.full_maps import Attention


LABELED = 60  # tokens on a side that can all be labeled
SIDE = 8.4  # inches of a map of so many tokens, or more
LARGEST, LETTERS = 0.42, 16  # inches of a cell, letters of a token
QUERIES, KEYS = 0.4, 0.2  # inches before the labels of queries and above those of keys
SCALE = 3.4  # inches that the color bar and its legend need
OFTEN = 1 / 3  # of the queries, from which a rule is worth the title
OFFSETS = {-1: "the previous token", 0: "itself", 1: "the next token"}


def map(attention: Attention, layer: int, head: int, *, dark: bool = False) -> Figure:  # noqa: A001 - read as plot.map
    """Plot one full map: query down, key across, each with its token.

    >>> import headatlas as ha
    >>> attention = ha.models.attention("packaged", "The cat sat on the mat.")
    >>> figure = ha.plot.map(attention, 0, 2)

    Parameters
    ----------
    attention : Attention
        All full maps of an example, from `models.attention`.
    layer, head : int
        The head, counted from 0.
    dark : bool
        Use the dark theme.

    Returns
    -------
    matplotlib.figure.Figure
    """
    values = attention.map(layer, head)
    rows, columns = _tokens(attention, layer)
    cell = float(np.clip(5 / max(values.shape), SIDE / LABELED, LARGEST))
    cell = min(cell, SIDE / max(values.shape))
    step = int(np.ceil(SIDE / LABELED / cell - 1e-9))
    left, above = QUERIES + _longest(rows[::step]), KEYS + _longest(columns[::step])
    height, width = (size * cell for size in values.shape)
    body = max(left + width, SCALE)
    title = f"{head_name(layer, head)}: {_rule(values, columns)}"
    page = Page(body, above + height + 0.85, title, _note(attention.model, attention.layers[layer].sink, step), dark)
    axes = page.axes(left, above, width, height)
    norm = PowerNorm(0.5, 0, float(values.max()) or 1.0)
    image = axes.imshow(values, cmap=page.look.maps, norm=norm, interpolation="none", aspect="auto")
    _label(axes, rows, columns, step)
    page.text(left, 0, "key →", color=page.look.muted, size=SMALL)
    page.text(0, above, "query\n↓", color=page.look.muted, size=SMALL, linespacing=1.0)
    page.scale(left if left + 1.8 <= body else 0, above + height + 0.2, image, "attention", "square-root scale")
    return page.figure


def _tokens(attention: Attention, layer: int) -> tuple[list[str], list[str]]:
    """Labels of queries and keys: of the source, the target, or one of each in cross attention."""
    kind = attention.layers[layer].kind
    target = attention.target_tokens or attention.tokens
    rows = attention.tokens if kind == "encoder" else target
    columns = target if kind == "decoder" else attention.tokens
    return [_shown(token) for token in rows], [_shown(token) for token in columns]


def _shown(token: str) -> str:
    """A token as a label: white space visible, not too long.

    >>> _shown("a\\n"), _shown(" "), _shown("internationalization")
    ('a↵', '␣', 'internationaliz…')
    """
    text = token.replace("\n", "↵").replace("\t", "⇥")
    text = text if text.strip() else text.replace(" ", "␣")
    return text if len(text) <= LETTERS else f"{text[: LETTERS - 1]}…"


def _longest(tokens: list[str]) -> float:
    """Inches that the longest label takes, and a gap."""
    font = FontProperties(size=SMALL)
    plain = {token.replace("$", "S") for token in tokens}  # between two dollars it would be a formula
    widths = [TextPath((0, 0), token, prop=font).get_extents().x1 for token in plain if token.strip()]
    return max(widths, default=0.0) / 72 + 0.1


def _label(axes: Axes, rows: list[str], columns: list[str], step: int) -> None:
    options: dict[str, Any] = {"parse_math": False}
    axes.set_yticks(range(0, len(rows), step), rows[::step], **options)
    axes.set_xticks(range(0, len(columns), step), columns[::step], rotation=90, **options)
    axes.xaxis.tick_top()


def _note(model: str, sink: bool, step: int) -> str:
    of = f" of {model}" if model else ""
    total = "part of each row goes to no token" if sink else "each row adds up to 1"
    thinned = f" One token in {step} is labeled." if step > 1 else ""
    return (
        f"One map{of}: queries run down and keys across; {total}. "
        f"Color is the square root of attention, from 0 to the map's largest value.{thinned}"
    )


def _rule(values: NDArray[np.float32], columns: list[str]) -> str:
    """Title: what most queries attend to most: a key at one distance, or one key.

    >>> _rule(np.eye(3, k=-1, dtype=np.float32), ["a", "b", "c"])
    '2 of 3 queries attend most to the previous token'
    """
    queries, best = len(values), values.argmax(1)
    rules: dict[str, int] = {}
    if values.shape[0] == values.shape[1]:
        offsets = best - np.arange(queries)
        rules = {name: int((offsets[max(0, -by) :] == by).sum()) for by, name in OFFSETS.items()}
    counts = np.bincount(best, minlength=len(columns))
    key = int(counts.argmax())
    named = f"“{columns[key]}”" + (f" (token {key})" if columns.count(columns[key]) > 1 else "")
    rules[named] = int(counts[key])
    target = max(rules, key=lambda name: rules[name])
    noun, verb = "query" if queries == 1 else "queries", "attends" if rules[target] == 1 else "attend"
    sentence = f"{rules[target]:,} of {queries:,} {noun} {verb} most to {target}"
    return sentence if rules[target] >= OFTEN * queries else f"queries differ in what they attend to; {sentence}"
