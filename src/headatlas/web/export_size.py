"""How large an export becomes, known before it is written, and how many examples fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headatlas import progress, wording
from headatlas.web.compute.full_maps import map_size
from headatlas.web.compute.source import Source
from headatlas.web.views import clusters, columns, compare_maps, example_table, qk

if TYPE_CHECKING:
    from headatlas.web.views.snapshot import Snapshot

LARGEST = 10**9  # bytes of all examples, unless their number is given
LARGEST_FULL = 100 * 10**6  # bytes of all full maps, unless the number of examples is given
FULL_EXAMPLES = 12  # at most so many, unless their number is given
TOKEN_BYTES = 60  # of a token in the file of an example, approximately
NUMBER_BYTES = 20  # of a number in a JSON file
AVERAGE_BYTES = 6_000  # of the file with the mean attention of a head, approximately
HEAD_BYTES = 2_500  # of the file of a head in a clustering, approximately
PLOT_BYTES = 7_500  # of what is said about the plot of a head's queries and keys, approximately
STRONGEST_BYTES = 20  # of the strongest keys of a query
CHANGE_BYTES = 250  # of a statistic of a head at a step of a comparison, approximately
DRAWN_BYTES = 14  # of a token in the list of tokens that are drawn, approximately


@dataclass(frozen=True)
class Counts:
    """How many examples have full maps, pooled maps and t-SNE; None: as many as fit."""

    full: int | None
    examples: int | None
    tsne: int


def full_bytes(snapshot: Snapshot, example: int) -> int:
    """Bytes of the full maps of all heads on an example: two bytes per weight."""
    tokens, target = (example_table.integers(snapshot, name, 0)[example] for name in ("n_tokens", "n_target"))
    source = Source(example, tokens, target)
    layers = snapshot.atlas.header["model"]["layers"]
    return 2 * sum(int(layer["heads"]) * map_size(source, layer["kind"]) for layer in layers)


def fitting_full(snapshot: Snapshot, wanted: int | None) -> int:
    """How many examples, from the first on, have full maps."""
    if wanted is not None or not snapshot.live:
        return min(FULL_EXAMPLES if wanted is None else wanted, snapshot.shape[0])
    total = 0
    for example in range(min(FULL_EXAMPLES, snapshot.shape[0])):
        total += full_bytes(snapshot, example)
        if total > LARGEST_FULL:
            return example
    return min(FULL_EXAMPLES, snapshot.shape[0])


def vector_bytes(snapshot: Snapshot, example: int) -> int:
    """Bytes of the queries, keys and norms of values of an example: two per number."""
    tokens = snapshot.sampled[example][1]
    layers = snapshot.atlas.header["model"]["layers"]
    return sum(
        2 * tokens * (layer["width"] * (layer["heads"] + layer["key_heads"]) + layer["key_heads"]) for layer in layers
    )


def fitting_vectors(snapshot: Snapshot, wanted: int | None) -> list[int]:
    """The examples that have queries and keys: as many, from the first on, as have full maps if there is a model."""
    chosen, total = [], 0
    for example in range(min(FULL_EXAMPLES if wanted is None else wanted, snapshot.shape[0])):
        if example in snapshot.sampled:
            total += vector_bytes(snapshot, example)
            if wanted is None and total > LARGEST_FULL:
                break
            chosen.append(example)
    return chosen


def choose_examples(snapshot: Snapshot, wanted: int | None, computed: list[int]) -> tuple[set[int], list[int]]:
    """Examples that have pooled maps, and those that have a file at all."""
    count = snapshot.shape[0]
    map_bytes, text_bytes = _pooled_bytes(snapshot), _text_bytes(snapshot)
    every_text = wanted is None and text_bytes <= LARGEST // 2
    if every_text:
        fitting = max(0, LARGEST - text_bytes) // map_bytes
    else:
        fitting = LARGEST // (map_bytes + text_bytes // max(1, count))
    first = range(min(count, fitting if wanted is None else wanted))
    clusterings = snapshot.atlas.results("cluster")
    exemplars = {row["example"] for name in clusterings for row in clusters.exemplars(snapshot, name)}
    pooled = {*first, *computed, *exemplars}
    return pooled, list(range(count)) if every_text else sorted(pooled)


def _pooled_bytes(snapshot: Snapshot) -> int:
    """Bytes of the pooled maps of an example."""
    layers, heads = snapshot.shape[1:]
    return int(layers * heads * snapshot.atlas.array("pooled").shape[-1] ** 2 * 2)


def _text_bytes(snapshot: Snapshot) -> int:
    return int(snapshot.atlas.collection["counts"].get("tokens", 0)) * TOKEN_BYTES


def embedding_bytes(snapshot: Snapshot) -> int:
    """Bytes of all plots of queries and keys, approximately."""
    _, layers, room = snapshot.shape
    heads = sum(int(layer["heads"]) for layer in snapshot.atlas.header["model"]["layers"])
    total = 0
    for name, entry in snapshot.atlas.results("qk").items():
        tokens, dims = int(entry["facts"]["tokens"]), int(entry["facts"]["dims"])
        drawn = tokens + len(qk.sample(snapshot, name))  # in the files of layers, and in those of the sample
        points = 2 * drawn * layers * room * 2 * (dims + len(qk.MEASURES))
        listed = tokens * (DRAWN_BYTES + 2 * len(qk.catalog(snapshot, name)))
        total += points + listed + heads * (PLOT_BYTES + tokens * STRONGEST_BYTES)
    return total


def comparison_bytes(snapshot: Snapshot) -> int:
    """Bytes of all comparisons, approximately: two per weight of a map, and the numbers of every head and step."""
    total = 0
    for name, entry in snapshot.atlas.results("compare").items():
        kept, _, *one_model = snapshot.atlas.array("compare_pooled", name).shape
        models = len(compare_maps.models(snapshot, name))
        listed = (models - 1) * entry["facts"]["heads"] * len(columns.statistics(snapshot))
        total += 2 * (1 + kept) * models * math.prod(one_model) + listed * CHANGE_BYTES
    return total


def expected(
    snapshot: Snapshot, full: int, pooled: set[int], listed: list[int], vectors: Sequence[int] = ()
) -> int:  # fmt: skip
    """Bytes of what is exported of an atlas but t-SNE, approximately."""
    count, layers, heads = snapshot.shape
    maps = count * layers * heads
    buffers = len(columns.catalog(snapshot)) * 2 * maps + len(snapshot.atlas.results("project")) * 4 * maps
    cards = len(snapshot.atlas.results("correlate")) * layers * heads * HEAD_BYTES
    cards += layers * heads * len(columns.statistics(snapshot)) * NUMBER_BYTES
    texts = _text_bytes(snapshot) * len(listed) // max(1, count)
    maps_of_examples = sum(full_bytes(snapshot, example) for example in range(full)) + embedding_bytes(snapshot)
    maps_of_examples += comparison_bytes(snapshot)
    maps_of_examples += sum(vector_bytes(snapshot, example) for example in vectors)
    cards += layers * heads * (AVERAGE_BYTES if snapshot.sampled else NUMBER_BYTES * 50)
    return maps_of_examples + (1 + len(pooled)) * _pooled_bytes(snapshot) + texts + buffers + cards


def announce(snapshot: Snapshot, counts: Counts, page: int) -> int:
    """Say what will be written and how large it is; returns how many examples will have full maps.

    `page` is the size of what does not depend on the atlas.
    """
    full = fitting_full(snapshot, counts.full) if snapshot.live else 0
    pooled, listed = choose_examples(snapshot, counts.examples, list(range(max(full, counts.tsne))))
    count = snapshot.shape[0]
    vectors = fitting_vectors(snapshot, counts.full)
    size = wording.file_size(page + expected(snapshot, full, pooled, listed, vectors))
    progress.say(f"writing about {size}: full maps of {full} and pooled maps of {len(pooled):,} of {count:,} examples")
    if counts.full is None and snapshot.live and full < min(FULL_EXAMPLES, count):
        progress.say(f"full maps of more examples exceed {wording.file_size(LARGEST_FULL)}; --full sets their number")
    if len(pooled) < count:
        rest = "their tokens only" if len(listed) == count else "no page"
        progress.say(f"examples without pooled maps have {rest}; --examples changes that")
    return fitting_full(snapshot, counts.full)
