"""The watcher of `collect`: computes the attention in place of the model and reduces every map at once.

A layer proven to be standard takes the fast path: the scores of one example and a few heads at a time go through
`kernel.reduce_heads`, which turns them into attention in place, and attention times value is the output of the layer.
Padding is never computed. Other layers compute their own maps, whose logarithms go through the same kernel.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.errors import ModelError
from headatlas.models.batch import Batch
from headatlas.models.capture import Attended, Call
from headatlas.models.model import Kind, Layer, Model
from headatlas.stages.collect import kernel
from headatlas.stages.collect.layout import Layout
from headatlas.stages.collect.norms import Moved, Reals
from headatlas.stages.collect.spans import Between, span_means
from headatlas.stages.collect.stat_axis import Statistics

CACHE = 150_000  # scores computed at a time: they fit in a second-level cache
SUM_TOLERANCE = 1e-3

Keep = Callable[[Layer, tuple[Tensor, Tensor, Tensor]], None]
MakeLayout = Callable[[int, Kind, bool], Layout]
MakeSpans = Callable[[int, Kind], Between]
Intervals = tuple[NDArray[np.int64], NDArray[np.int64]]


class Reduce:
    """Pooled maps (example, layer, head, r, r) and statistics (example, layer, head, stat) of one batch."""

    def __init__(
        self, model: Model, batch: Batch, statistics: Statistics, resolution: int, make_layout: MakeLayout
    ) -> None:
        self.batch, self.statistics, self.resolution, self.make_layout = batch, statistics, resolution, make_layout
        shape = (len(batch.lengths), len(model.layers), model.heads)
        self.pooled = np.full((*shape, resolution, resolution), np.nan, np.float16)
        self.stats = np.full((*shape, len(statistics.names)), np.nan, np.float32)
        self.keep: Keep | None = None  # called with the vectors of each layer
        self.spans: MakeSpans | None = None  # gives the spans of an example's queries and keys
        self.moved: Moved | None = None  # measures what heads move
        # what the kernels find in one layer: statistics are made of it once for all its maps
        self._means = np.empty((*shape[::2], resolution, resolution), np.float32)
        self._sums = np.empty((*shape[::2], statistics.count))
        self._scratch = torch.empty(0)  # scores of some heads; fresh memory for each part costs more than the product
        self._layouts: dict[tuple[int, Kind, bool], Layout] = {}
        self._masks: dict[int, tuple[Tensor, list[Intervals] | None]] = {}

    def call(self, layer: Layer, call: Call) -> Attended:
        """Compute the attention and reduce it."""
        _check_finite(layer, call)
        self.vectors(layer, call.query, call.key, call.value)
        intervals = self._intervals(layer, call.mask) if layer.standard else None
        if intervals is not None:
            return self._attend(layer, call, intervals), None
        output, weights = call.eager()
        assert weights is not None  # the trial forward pass showed that this layer returns them
        self._reduce_maps(layer, weights, self._intervals(layer, call.mask), call.value)
        return output, weights

    def map(self, layer: Layer, weights: Tensor) -> None:
        """Reduce finished maps."""
        self._reduce_maps(layer, weights, self._intervals(layer, None))

    def vectors(self, layer: Layer, query: Tensor, key: Tensor, value: Tensor) -> None:
        """Pass on the vectors of one layer."""
        if self.keep is not None:
            self.keep(layer, (query, key, value))

    def _attend(self, layer: Layer, call: Call, intervals: list[Intervals]) -> Tensor:
        examples, heads, queries, width = call.query.shape
        groups = heads // call.key.shape[1]
        scaling = width**-0.5 if call.scaling is None else call.scaling
        output = call.value.new_zeros((examples, queries, heads, call.value.shape[-1]))
        for e in range(examples):
            n, m = self.batch.extent(e, layer.kind)
            lengths = None if self.moved is None else self.moved.lengths(e, layer, call.value)
            step = max(1, min(heads, CACHE // (n * m)))
            for h in range(0, heads, step):
                part = slice(h, min(h + step, heads))
                shared = [head // groups for head in range(part.start, part.stop)] if groups > 1 else part
                keys = call.key[e, shared, :m].transpose(1, 2)
                scores = self._scores(part.stop - h, n, m)
                torch.baddbmm(_NOTHING, call.query[e, part, :n], keys, beta=0, alpha=scaling, out=scores)
                self._reduce(e, layer, part, scores, intervals[e])
                self._move(e, layer, part, scores, lengths)
                output[e, :n, part] = torch.bmm(scores, call.value[e, shared, :m]).transpose(0, 1)
        self._finish(layer, heads)
        return output

    def _scores(self, heads: int, queries: int, keys: int) -> Tensor:
        """Room for the scores of some heads, until the next call."""
        size = heads * queries * keys
        if len(self._scratch) < size:
            self._scratch = torch.empty(size)
        return self._scratch[:size].view(heads, queries, keys)

    def _reduce_maps(
        self, layer: Layer, weights: Tensor, intervals: list[Intervals] | None, values: Tensor | None = None
    ) -> None:
        heads = weights.shape[1]
        for e in range(weights.shape[0]):
            n, m = self.batch.extent(e, layer.kind)
            maps = weights[e, :, :n, :m].float()
            _check_sums(layer, maps)
            allowed = (maps > 0).any(0).sum(-1).numpy() if intervals is None else intervals[e][1]
            reach = np.stack([np.zeros(n, np.int64), np.full(n, m, np.int64)])
            self._reduce(e, layer, slice(0, heads), maps.log().contiguous(), (reach, allowed))
            if self.moved is not None and values is not None:
                self._move(e, layer, slice(0, heads), maps, self.moved.lengths(e, layer, values))
        self._finish(layer, heads)

    def _reduce(self, e: int, layer: Layer, heads: slice, scores: Tensor, interval: Intervals) -> None:
        """Turn scores of some heads of an example into attention, and sum what its statistics are made of."""
        attention = scores.numpy()
        kernel.reduce_heads(attention, *interval, self._layout(e, layer), self._means[e, heads], self._sums[e, heads])
        if self.spans is not None:
            first = len(self.statistics.declared)
            between = slice(first, first + len(self.statistics.spans) ** 2)
            self.stats[e, layer.index, heads, between] = span_means(attention, self.spans(e, layer.kind))

    def _finish(self, layer: Layer, heads: int) -> None:
        """Make the pooled maps and statistics of a layer from what was summed."""
        sums = self._sums[:, :heads]
        if not np.isfinite(sums[..., kernel.ENTROPY]).all():
            raise _not_numbers(layer)
        # torch converts to half precision ten times as fast as NumPy
        pooled, stats = self.pooled[:, layer.index, :heads], self.stats[:, layer.index, :heads]
        torch.from_numpy(pooled).copy_(torch.from_numpy(self._means[:, :heads]))
        keys = np.array([self.batch.extent(e, layer.kind)[1] for e in range(len(sums))])
        stats[..., : len(self.statistics.declared)] = self.statistics.from_sums(sums, layer.kind, keys[:, None])

    def _move(self, e: int, layer: Layer, heads: slice, attention: Tensor, lengths: Reals | None) -> None:
        """Measure what some heads move; the weights are those of the model, whatever a sink takes of them."""
        if self.moved is not None and lengths is not None:
            stats = self.moved.statistics(e, layer, attention.numpy(), lengths[heads])
            self.stats[e, layer.index, heads, -len(self.statistics.norms) :] = stats

    def _layout(self, e: int, layer: Layer) -> Layout:
        key = (e, layer.kind, layer.causal)
        if key not in self._layouts:
            self._layouts[key] = self.make_layout(*key)
        return self._layouts[key]

    def _intervals(self, layer: Layer, mask: Tensor | None) -> list[Intervals] | None:
        """The keys that each query of each example may attend to; None if they are not intervals."""
        if mask is None:
            return [_open(*self.batch.extent(e, layer.kind), layer.causal) for e in range(len(self.batch.lengths))]
        if id(mask) not in self._masks:  # most layers share one mask; it is stored so that its id stays unique
            self._masks[id(mask)] = (mask, self._read_mask(layer, mask))
        return self._masks[id(mask)][1]

    def _read_mask(self, layer: Layer, mask: Tensor) -> list[Intervals] | None:
        if mask.ndim != 4 or mask.shape[1] != 1:
            return None
        intervals = []
        for e in range(len(self.batch.lengths)):
            n, m = self.batch.extent(e, layer.kind)
            values = mask[e % mask.shape[0], 0].expand(max(n, mask.shape[2]), -1)[:n, :m]
            allowed = values > -1e4
            if bool((allowed & (values != 0)).any()):
                return None
            count, first = allowed.sum(-1), allowed.int().argmax(-1)
            last = m - 1 - allowed.flip(-1).int().argmax(-1)
            if bool((count == 0).any()) or bool((last - first + 1 != count).any()):
                return None
            intervals.append((torch.stack([first, last + 1]).numpy(), count.numpy()))
        return intervals


_NOTHING = torch.zeros(1, 1, 1)


def _open(n: int, m: int, causal: bool) -> Intervals:
    last = np.arange(1, n + 1) if causal else np.full(n, m)
    return np.stack([np.zeros(n, np.int64), last.astype(np.int64)]), last.astype(np.int64)


def _check_finite(layer: Layer, call: Call) -> None:
    if not bool(torch.isfinite(call.query.sum() + call.key.sum())):
        raise _not_numbers(layer)


def _check_sums(layer: Layer, maps: Tensor) -> None:
    sums = maps.sum(-1)
    if not bool(torch.isfinite(sums).all()):
        raise _not_numbers(layer)
    worst = float((sums - 1).abs().max())
    if worst > SUM_TOLERANCE and not layer.sink:
        raise ModelError(
            f"attention of layer {layer.index} ({layer.module}) does not sum to 1: a row is off by {worst:.3g}. "
            "Its maps are not probabilities, so nothing was collected from them"
        )


def _not_numbers(layer: Layer) -> ModelError:
    return ModelError(
        f"attention of layer {layer.index} ({layer.module}) is NaN or infinite. "
        "The weights are damaged or overflow; what was collected before is kept"
    )
