"""Buffers of the points of all heads: where they lie, and a number for each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.web.api import arrays
from headatlas.web.views import qk
from headatlas.web.views.snapshot import Snapshot


def positions(snapshot: Snapshot, embedding: str, layer: int) -> bytes:
    """The points (head, point, axis) of a layer."""
    return _positions(snapshot, embedding, layer).tobytes()


def sampled_positions(snapshot: Snapshot, embedding: str) -> bytes:
    """The points (layer, head, point, axis) of the sample."""
    chosen = sampled_points(snapshot, embedding)
    return b"".join(_positions(snapshot, embedding, layer)[:, chosen].tobytes() for layer in _layers(snapshot))


def amounts(snapshot: Snapshot, embedding: str, measure: str, layer: int) -> bytes:
    """A number for each point (head, point) of a layer."""
    return _amounts(snapshot, embedding, measure, layer).tobytes()


def sampled_amounts(snapshot: Snapshot, embedding: str, measure: str) -> bytes:
    """A number for each point (layer, head, point) of the sample."""
    chosen = sampled_points(snapshot, embedding)
    return b"".join(_amounts(snapshot, embedding, measure, layer)[:, chosen].tobytes() for layer in _layers(snapshot))


def sampled_points(snapshot: Snapshot, embedding: str) -> NDArray[np.int64]:
    """The points of the sample: the queries of its tokens, then their keys."""
    tokens = qk.sample(snapshot, embedding)
    return np.concatenate([tokens, tokens + int(qk.entry(snapshot, embedding)["facts"]["tokens"])])


def _layers(snapshot: Snapshot) -> range:
    return range(len(snapshot.atlas.header["model"]["layers"]))


def _positions(snapshot: Snapshot, embedding: str, layer: int) -> arrays.U16:
    """Each head in its own plane or cube, which it fills."""
    return np.stack([arrays.positions(head) for head in _read(snapshot, "qk_position", embedding, layer)])


def _amounts(snapshot: Snapshot, embedding: str, measure: str, layer: int) -> arrays.U16:
    low, high = qk.norm_range(snapshot, embedding) if measure == "norm" else (0.0, 1.0)
    return arrays.amounts(_read(snapshot, f"qk_{measure}", embedding, layer), low or 0.0, high or 0.0)


def _read(snapshot: Snapshot, name: str, embedding: str, layer: int) -> NDArray[Any]:
    qk.entry(snapshot, embedding)
    snapshot.check_map(0, layer)
    return qk.layer_values(snapshot, name, embedding, layer)
