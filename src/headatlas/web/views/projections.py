"""Projections: all maps as points in the plane."""

from __future__ import annotations

from typing import Any

import numpy as np

from headatlas import wording
from headatlas.atlas.blocks import read_blocks
from headatlas.web.api import arrays
from headatlas.web.api.payloads.atlas import ProjectionCard
from headatlas.web.api.payloads.base import PositionScale
from headatlas.web.views.snapshot import Snapshot
from headatlas.web.views.values import floats, known


def cards(snapshot: Snapshot) -> list[ProjectionCard]:
    """A card for each projection."""
    results = snapshot.atlas.results("project")
    return [_projection(snapshot, name, entry["facts"]) for name, entry in results.items()]


def _scale(snapshot: Snapshot, projection: str) -> PositionScale:
    """How the encoded positions of a projection become coordinates."""
    low, high = np.full(2, np.inf), np.full(2, -np.inf)
    for _, block in read_blocks(snapshot.atlas, "position", projection):
        points = block.reshape(-1, 2)
        points = points[np.isfinite(points).all(1)].astype(np.float64)
        low, high = np.minimum(low, points.min(0, initial=np.inf)), np.maximum(high, points.max(0, initial=-np.inf))
    return arrays.position_scale(low, high) if (high >= low).all() else PositionScale(x=0, y=0, step=0)


def _projection(snapshot: Snapshot, name: str, facts: dict[str, Any]) -> ProjectionCard:
    scale = snapshot.cached(("scale", name), lambda: _scale(snapshot, name))
    method = str(facts.get("method", name))
    axes = [f"{wording.method_name(method)} {number}" for number in (1, 2)]
    if "variance" in facts:
        shares = zip(("first", "second"), facts["variance"], strict=True)
        axes = [f"{ordinal} component ({wording.percent(share)} of variance)" for ordinal, share in shares]
    return ProjectionCard(
        name=name, method=method, trustworthiness=known(facts.get("trustworthiness")),
        continuity=known(facts.get("continuity")), axes=axes, scale=scale,
    )  # fmt: skip


def positions(snapshot: Snapshot, projection: str) -> bytes:
    """The points of a projection."""
    snapshot.result("project", projection, "projection")
    points = np.empty((*snapshot.shape, 2), np.float32)
    for rows, block in read_blocks(snapshot.atlas, "position", projection):
        points[rows.start : rows.stop] = block
    return arrays.positions(points.reshape(-1, 2)).tobytes()


def trust_values(snapshot: Snapshot, projection: str) -> arrays.U16:
    """How reliable the position of each map in a projection is."""
    snapshot.result("project", projection, "projection")
    return arrays.amounts(floats(snapshot, "trust", projection), 0.0, 1.0)


def trust(snapshot: Snapshot, projection: str) -> bytes:
    """The same as a buffer."""
    return trust_values(snapshot, projection).tobytes()
