"""Mean attention of a head by distance and by position, over the maps of the examples whose vectors are stored.

Full maps are not stored, but a sample of queries and keys is, and a map is the softmax of their products. That is
checked with the stored pooled maps of the longest examples: a layer with a window, a position bias or a soft cap fails,
and has the stored statistics instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas.blocks import read_blocks
from headatlas.atlas.groups import group_column, read_groups
from headatlas.numeric.estimates import Estimates, mean_over_sources
from headatlas.numeric.pooling import pool
from headatlas.numeric.products import attention
from headatlas.sources import Offset
from headatlas.stages.qk.notes import layer_note
from headatlas.statistics import statistic
from headatlas.web.api.payloads.averages import Average, Means
from headatlas.web.views import columns
from headatlas.web.views.example_vectors import LayerVectors, of_example, scaling_of
from headatlas.web.views.places import Part, places_for
from headatlas.web.views.snapshot import Snapshot
from headatlas.web.views.values import known
from headatlas.wording.thresholds import GROUPS

CHECKED = 3  # longest examples whose maps are compared with the pooled ones
TOLERANCE = 0.02  # of a pooled weight: queries and keys are stored with 11 bits
WINDOW = "it does not attend to every token, as with a window"
NONE = "the queries and keys of this model are not stored"

Floats = NDArray[np.float64]


def average(snapshot: Snapshot, layer: int, head: int) -> Average:
    """The mean attention of a head."""
    snapshot.check_map(0, layer, head)
    facts = snapshot.atlas.header["model"]["layers"][layer]
    note = layer_note(facts) if snapshot.sampled else NONE
    if not note and not _is_softmax(snapshot, layer, head):
        note = WINDOW
    if note:
        return _from_statistics(snapshot, layer, head, note)
    return _from_maps(snapshot, layer, head)


def _from_maps(snapshot: Snapshot, layer: int, head: int) -> Average:
    """Means over the maps of all examples whose vectors are stored."""
    facts = snapshot.atlas.header["model"]["layers"][layer]
    places = places_for(facts, snapshot.atlas.header["model"].get("grid"))
    examples, values, even = [], [], []
    for example, weights in _maps(snapshot, layer, head):
        examples.append(example)
        values.append(places.means(weights))
        even.append(places.means(_even(weights.shape, facts["causal"])))
    source = sources(snapshot)[examples]
    estimates, level = (mean_over_sources(np.stack(rows), source, GROUPS) for rows in (values, even))
    offsets, positions, special = (
        _means(part, estimates, level.mean) for part in (places.offsets, places.positions, places.special)
    )
    return Average(
        layer=layer, head=head, method="maps", examples=len(examples), sources=len(np.unique(source)), note="",
        offsets=offsets, positions=positions, special=special,
    )  # fmt: skip


def _means(part: Part | None, estimates: Estimates, even: Floats) -> Means | None:
    """The means of places of one kind; None if there are none."""
    if part is None:
        return None
    return Means(
        rows=part.rows, columns=part.columns, first_row=part.first_row, first_column=part.first_column,
        **_numbers(estimates, even, part.within),
    )  # fmt: skip


def _numbers(estimates: Estimates, even: Floats, within: slice) -> dict[str, Any]:
    numbers = {"mean": estimates.mean, "low": estimates.low, "high": estimates.high, "even": even}
    listed = {name: [_rounded(value) for value in values[within]] for name, values in numbers.items()}
    return listed | {"sources": estimates.sources[within].tolist()}


def _rounded(value: float) -> float | None:
    """Five digits: more are not known."""
    number = known(value)
    return None if number is None else float(f"{number:.5g}")


def _even(shape: tuple[int, ...], causal: bool) -> Floats:
    """A map that attends evenly to all keys it may attend to."""
    allowed = np.tril(np.ones(shape)) if causal else np.ones(shape)
    even: Floats = allowed / allowed.sum(1, keepdims=True)
    return even


# maps


def _maps(snapshot: Snapshot, layer: int, head: int) -> Iterator[tuple[int, Floats]]:
    """The map of a head on every example whose vectors are stored."""
    _, arrays = snapshot.block_of("vectors", layer, 1, lambda start, stop: _read_layer(snapshot, layer))
    for example in snapshot.sampled:
        yield example, _map(snapshot, _rows(snapshot, example, layer, arrays), layer, head)


def _read_layer(snapshot: Snapshot, layer: int) -> tuple[NDArray[Any], ...]:
    """The vectors of all sampled tokens in a layer: one read for all its heads."""
    return tuple(snapshot.atlas.read(name, (slice(None), layer)) for name in ("query", "key", "value_norm"))


def _rows(snapshot: Snapshot, example: int, layer: int, arrays: tuple[NDArray[Any], ...]) -> LayerVectors:
    offset, tokens = snapshot.sampled[example]
    query, key, norm = (values[offset : offset + tokens] for values in arrays)
    return of_example(snapshot, example, layer, query, key, norm)


def _map(snapshot: Snapshot, vectors: LayerVectors, layer: int, head: int) -> Floats:
    facts = snapshot.atlas.header["model"]["layers"][layer]
    key_head = head // (facts["heads"] // facts["key_heads"])
    return attention(vectors.query[:, head], vectors.key[:, key_head], scaling_of(facts), facts["causal"])


def _is_softmax(snapshot: Snapshot, layer: int, head: int) -> bool:
    """Whether the maps from vectors are those that were collected, on the longest examples."""
    _, arrays = snapshot.block_of("vectors", layer, 1, lambda start, stop: _read_layer(snapshot, layer))
    longest = sorted(snapshot.sampled, key=lambda example: -snapshot.sampled[example][1])[:CHECKED]
    for example in longest:
        weights = _map(snapshot, _rows(snapshot, example, layer, arrays), layer, head)
        pooled = snapshot.atlas.read("pooled", (example, layer, head)).astype(np.float64)
        if not np.abs(pool(weights, pooled.shape[-1]) - pooled).max() <= TOLERANCE:
            return False
    return True


def sources(snapshot: Snapshot) -> NDArray[Any]:
    """The source of each example: windows of one text, and texts that the dataset declares to be of one source."""
    return snapshot.cached(
        "sources", lambda: read_groups(snapshot.atlas, group_column(snapshot.atlas, None)).number
    )  # fmt: skip


# statistics


def _from_statistics(snapshot: Snapshot, layer: int, head: int, note: str) -> Average:
    """Attention to near tokens, which `collect` stores for every example."""
    names = columns.statistics(snapshot)
    offsets = {source.by: names.index(name) for name in names if isinstance(source := statistic(name).source, Offset)}
    by = sorted(offsets)
    values = np.concatenate(
        [block[:, layer, head][:, [offsets[d] for d in by]] for _, block in read_blocks(snapshot.atlas, "stats")]
    )
    estimates = mean_over_sources(values.astype(np.float64), sources(snapshot), GROUPS)
    part = Part(slice(None), 1, len(by), 0, by[0]) if len(by) > 1 and np.isfinite(estimates.mean).any() else None
    return Average(
        layer=layer, head=head, method="statistics", examples=len(values), sources=len(np.unique(sources(snapshot))),
        note=note, offsets=_means(part, estimates, np.full(len(by), np.nan)), positions=None, special=None,
    )  # fmt: skip
