"""A search over heads: which heads attend from tokens of one kind to tokens of another?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas import progress
from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.atlas.tokens import read_rows
from headatlas.models.load import ModelLike
from headatlas.models.model import Layer
from headatlas.models.written import as_written
from headatlas.numeric.estimates import mean_over_sources
from headatlas.stages.probe.conditions import OF_WORDS, Bits, Given, Text, Values, matching, of_search, paired
from headatlas.stages.probe.measures import LEAST, PLACE
from headatlas.stages.probe.source import ExampleMaps, Source, drawn_examples

EXAMPLES = 200
BLOCK = 16  # examples between two reports of progress

REAL = pa.float64()
FOUND = pa.schema([
    *PLACE, ("attention", REAL), ("low", REAL), ("high", REAL), ("even", REAL), ("strongest", REAL),
    ("texts", pa.int64()), ("queries", pa.int64()),
])  # fmt: skip


def search(
    atlas: AtlasLike,
    source: Given | None = None,
    target: Given | None = None,
    *,
    examples: int = EXAMPLES,
    seed: int = 0,
    model: ModelLike | None = None,
) -> pa.Table:
    """Heads by their attention from the tokens that match `source` to those that match `target`, the most first.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://search.atlas")
    >>> table = ha.probe.search(atlas, target={"offset": -1})
    >>> table["layer"][0].as_py(), table["head"][0].as_py()  # L0·H2 attends to the previous token
    (0, 2)

    A condition is a name and a value, or several values of which one must hold: `token` (its text), `kind` (number,
    punctuation, capitalized, special), `position` (first, last) and, in a treebank, `upos`, `xpos`, `lemma` and
    `deprel`. The target has three more, about both tokens: `offset` (−1: the token before the source), `relation`
    (obj: the target is the object of the source) and `direction` of that relation (up: the source is the object of
    the target).

    Nothing is stored. Queries that may attend to no matching token are left out.

    Parameters
    ----------
    atlas : Atlas, str or path
        An atlas of texts.
    source, target : dict, optional
        Conditions on the token that attends, and on the token that is attended to.
    examples : int
        Examples, drawn with the seed; all if there are no more.
    seed : int
        Random seed.
    model : Model, str or path, optional
        The model of the atlas, where it is not found by its recorded name.

    Returns
    -------
    pyarrow.Table
        One row per head: the mean attention from matching queries to all matching keys with its 95% interval over
        texts; what even attention would give; the share of these queries whose strongest key matches.
    """
    atlas = Atlas.open(atlas)
    wanted = of_search(atlas, source or {}, target or {})
    numbers = drawn_examples(atlas, examples, seed)
    with progress.bar("searching heads", len(numbers), "examples") as advance:
        return search_table(Source(atlas, numbers, model), *wanted, advance)


def search_table(source: Source, first: Values, second: Values, advance: Callable[[int], None]) -> pa.Table:
    """The table of a search; `advance` is called with the number of examples just done."""
    heads = source.heads
    values = np.full((3, len(source.numbers), len(heads)), np.nan)  # attention, even, strongest
    queries = np.zeros((len(source.numbers), len(heads)), np.int64)
    column = {head: number for number, head in enumerate(heads)}
    place = {number: at for at, number in enumerate(source.numbers)}
    for start in range(0, len(source.numbers), BLOCK):
        block = source.numbers[start : start + BLOCK]
        texts = _texts(source.atlas, block)
        for example in source.maps(block):
            for layer, bits in _wanted(example, source.model.layers, texts[example.number], first, second):
                scored, count = scores(example.maps[layer.index], bits)
                at = [column[layer.index, head] for head in range(layer.heads)]
                values[:, place[example.number], at] = scored
                queries[place[example.number], at] = count
        advance(len(block))
    return _table(source, values, queries)


def scores(maps: NDArray[Any], wanted: Bits) -> tuple[NDArray[np.float64], int]:
    """Attention, even attention and share of strongest keys (3, head) of maps (head, query, key), and the queries.

    Only queries with a wanted key that they may attend to count; without any, all numbers are NaN.

    >>> maps = np.array([[[0.2, 0.8], [0.5, 0.5]]])
    >>> scores(maps, np.array([[False, True], [False, False]]))
    (array([[0.8],
           [0.5],
           [1. ]]), 1)
    """
    allowed: Bits = np.asarray((maps > 0).any(0), bool)
    wanted = np.logical_and(wanted, allowed)
    queries = wanted.any(1)
    if not queries.any():
        return np.full((3, len(maps)), np.nan), 0
    rows, keys = maps[:, queries].astype(np.float64), wanted[queries]
    attention = (rows * keys).sum(-1).mean(-1)
    even = (keys.sum(-1) / allowed[queries].sum(-1)).mean()
    strongest = np.take_along_axis(keys[None].repeat(len(rows), 0), rows.argmax(-1)[..., None], -1).mean((1, 2))
    return np.stack([attention, np.full(len(maps), even), strongest]), int(queries.sum())


def _wanted(
    example: ExampleMaps, layers: tuple[Layer, ...], texts: dict[str, Any], first: Values, second: Values
) -> Iterator[tuple[Layer, Bits]]:
    """For each layer the pairs (query, key) that meet all conditions; computed once for layers of a kind."""
    kinds: dict[str, Bits] = {}
    for layer in layers:
        if layer.kind not in kinds:
            queries, keys = (_text(example, layer, texts, which) for which in (True, False))
            between = paired(queries, keys, second, same=queries.tokens is keys.tokens)
            kinds[layer.kind] = matching(queries, first)[:, None] & matching(keys, second) & between
        yield layer, kinds[layer.kind]


def _text(example: ExampleMaps, layer: Layer, texts: dict[str, Any], queries: bool) -> Text:
    tokens = example.tokens(layer, queries=queries)
    assert tokens is not None and example.encoded is not None  # images were refused
    if tokens is not example.encoded.source:  # the dataset says nothing about the words of a target
        return Text(tokens, tokens.text, {})
    return Text(tokens, as_written(tokens, [texts.get("text") or "", texts.get("pair") or ""]), texts)


def _texts(atlas: Atlas, numbers: list[int]) -> dict[int, dict[str, Any]]:
    known = set(atlas.table_columns("examples"))
    columns = [name for name in ("text", "pair", "head", *OF_WORDS) if name in known]
    return dict(zip(numbers, read_rows(atlas, numbers, columns), strict=True))


def _table(source: Source, values: NDArray[np.float64], queries: NDArray[np.int64]) -> pa.Table:
    attention, even, strongest = (
        mean_over_sources(of_heads, source.groups[source.numbers], LEAST) for of_heads in values
    )
    layer, head = np.array(source.heads).T
    numbers = {"attention": attention.mean, "low": attention.low, "high": attention.high, "even": even.mean}
    numbers |= {"strongest": strongest.mean}
    columns = {name: pa.array(column, from_pandas=True) for name, column in numbers.items()}  # NaN: null
    counts = {"texts": attention.sources, "queries": queries.sum(0)}
    table = pa.table({"layer": layer, "head": head} | columns | counts, schema=FOUND)
    order = np.lexsort((head, layer, -np.nan_to_num(attention.mean, nan=-1.0)))
    return table.take(pa.array(order))
