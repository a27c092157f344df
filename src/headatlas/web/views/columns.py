"""What maps can be coloured by: labels, distances, statistics, trust, and the dataset's own columns, as buffers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas import wording
from headatlas.atlas.blocks import read_blocks
from headatlas.statistics import statistic
from headatlas.web.api import encoding
from headatlas.web.api.errors import Problem
from headatlas.web.api.payloads import ColumnCard, Frame, ProjectionCard
from headatlas.web.views import example_table
from headatlas.web.views.site import View

SAFE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class Column:
    """A column, and how its values are read."""

    card: ColumnCard
    values: Callable[[View], encoding.Words]


def slugs(names: Iterable[str]) -> dict[str, str]:
    """Names that are safe in an address and as a file: as they are, or their number.

    >>> slugs(["previous", "special:[CLS]", "Title", "title"])
    {'previous': 'previous', 'special:[CLS]': '1', 'Title': 'Title', 'title': '3'}
    """
    found: dict[str, str] = {}
    listed = list(names)
    own = {name.lower() for name in listed}
    for number, name in enumerate(listed):
        slug = name
        if not SAFE.fullmatch(name) or name.lower() in {one.lower() for one in found.values()}:
            slug = str(number)
            while slug in own:
                slug = f"x{slug}"
        found[name] = slug
    return found


def catalogue(view: View) -> dict[str, Column]:
    """All columns by the name in their address."""
    return view.once("columns", lambda: {_address(one.card): one for one in _columns(view)})


def column(view: View, name: str) -> bytes:
    """The buffer of a column."""
    found = catalogue(view).get(name)
    if found is None:
        raise Problem(404, f"There is no column called {name[:80]!r}. The columns are listed in api/atlas.json.")
    return found.values(view).tobytes()


def _address(card: ColumnCard) -> str:
    return card.path.removeprefix("api/columns/").removesuffix(".bin")


def _columns(view: View) -> list[Column]:
    found = []
    for name in view.atlas.results("cluster"):
        found += [_labels(view, name), _distance(view, name)]
    found += _statistics(view)
    found += [_trust(name) for name in view.atlas.results("project")]
    return found + [Column(card, values) for card, values in example_table.columns(view, slugs)]


def names(view: View, clustering: str) -> list[str]:
    """Names of the clusters of a clustering by their number; plain numbers until they are correlated."""
    clusters = view.atlas.results("cluster")[clustering]["facts"].get("clusters", [])
    facts = view.atlas.results("correlate").get(clustering, {}).get("facts", {})
    called = {one["cluster"]: wording.cluster_name(**one) for one in facts.get("names", [])}
    count = 1 + max((int(one["cluster"]) for one in clusters), default=-1)
    return [called.get(number, wording.cluster_name(number, None)) for number in range(count)]


def _labels(view: View, name: str) -> Column:
    card = ColumnCard(
        name=f"cluster.{name}", label=f"clusters ({name})", group="clusters", level="map", kind="category",
        encoding="label", path=f"api/columns/cluster.{name}.bin", low=None, high=None, unit="",
        categories=names(view, name),
    )  # fmt: skip
    return Column(card, lambda view: _joined(view, "labels", name, encoding.labels, "<u2"))


def _distance(view: View, name: str) -> Column:
    low, high = view.once(("distance", name), lambda: _range(view, "distance", name))
    path = f"api/columns/distance.{name}.bin"
    card = _amount(f"distance.{name}", f"distance from the centre ({name})", "clusters", path, low, high, "")
    return Column(card, lambda view: _amounts(_joined(view, "distance", name, np.asarray, "<f4"), low, high))


def _trust(name: str) -> Column:
    path, unit = f"api/columns/trust.{name}.bin", "1: its neighbours are real"
    card = _amount(f"trust.{name}", f"trust in the place ({name})", "projection", path, 0.0, 1.0, unit)
    return Column(card, lambda view: trust_values(view, name))


def _statistics(view: View) -> list[Column]:
    found = []
    lows, highs = view.once("statistics", lambda: _ranges(view))
    for place, (name, slug) in enumerate(slugs(statistics(view)).items()):
        ends = (known(lows[place]), known(highs[place]))
        path = f"api/columns/stat.{slug}.bin"
        card = _amount(f"stat.{name}", statistic(name).label, "statistics", path, *ends, statistic(name).unit)
        found.append(Column(card, _statistic(place, *ends)))
    return found


def _statistic(place: int, low: float | None, high: float | None) -> Callable[[View], encoding.Words]:
    return lambda view: _amounts(_joined(view, "stats", None, lambda part: part[..., place], "<f4"), low, high)


def _amount(
    name: str, label: str, group: Any, path: str, low: float | None, high: float | None, unit: str
) -> ColumnCard:
    return ColumnCard(
        name=name, label=label, group=group, level="map", kind="number", encoding="amount", path=path, low=low,
        high=high, unit=unit, categories=[],
    )  # fmt: skip


def statistics(view: View) -> list[str]:
    """Names of the statistics, in the order of the array."""
    return [str(name) for name in view.atlas.array("stats").attrs["stats"]]


def known(value: Any) -> float | None:
    """A number as JSON can have it: what is not known is null."""
    return float(value) if value is not None and np.isfinite(value) else None


def _joined(
    view: View, name: str, of: str | None, take: Callable[[NDArray[Any]], NDArray[Any]], dtype: str
) -> NDArray[Any]:
    """What is taken from each part of an array, end to end: a value for each map."""
    examples, layers, heads = view.shape
    found = np.empty((examples, layers, heads), dtype)
    for rows, part in read_blocks(view.atlas, name, of):
        found[rows.start : rows.stop] = take(part)
    return found.reshape(-1)


def _amounts(values: NDArray[Any], low: float | None, high: float | None) -> encoding.Words:
    return encoding.amounts(values, 0.0 if low is None else low, 0.0 if high is None else high)


def _range(view: View, name: str, of: str | None) -> tuple[float | None, float | None]:
    """The smallest and the largest value of an array."""
    low = high = np.float32(np.nan)
    for _, part in read_blocks(view.atlas, name, of):
        low, high = np.fmin(low, np.fmin.reduce(part, None)), np.fmax(high, np.fmax.reduce(part, None))
    return known(low), known(high)


def _ranges(view: View) -> tuple[NDArray[Any], NDArray[Any]]:
    """The smallest and the largest value of each statistic over all maps."""
    count = len(statistics(view))
    low, high = np.full(count, np.nan, np.float32), np.full(count, np.nan, np.float32)
    for _, part in read_blocks(view.atlas, "stats"):
        flat = part.reshape(len(part), -1)  # long rows are compared faster than short ones
        low = np.fmin(low, np.fmin.reduce(np.fmin.reduce(flat, 0).reshape(-1, count), 0))
        high = np.fmax(high, np.fmax.reduce(np.fmax.reduce(flat, 0).reshape(-1, count), 0))
    return low, high


# projections


def projections(view: View) -> list[ProjectionCard]:
    """A card for each projection."""
    return [_projection(view, name, entry["facts"]) for name, entry in view.atlas.results("project").items()]


def _frame(view: View, name: str) -> Frame:
    """What the positions of a projection stand for."""
    low, high = np.full(2, np.inf), np.full(2, -np.inf)
    for _, part in read_blocks(view.atlas, "position", name):
        points = part.reshape(-1, 2)
        points = points[np.isfinite(points).all(1)].astype(np.float64)
        low, high = np.minimum(low, points.min(0, initial=np.inf)), np.maximum(high, points.max(0, initial=-np.inf))
    return encoding.frame(low, high) if (high >= low).all() else Frame(x=0, y=0, step=0)


def _projection(view: View, name: str, facts: dict[str, Any]) -> ProjectionCard:
    frame = view.once(("frame", name), lambda: _frame(view, name))
    method = str(facts.get("method", name))
    axes = [f"{wording.method_name(method)} {number}" for number in (1, 2)]
    if "variance" in facts:
        named = zip(("first", "second"), facts["variance"], strict=True)
        axes = [f"{number} component ({wording.percent(share)} of variance)" for number, share in named]
    return ProjectionCard(
        name=name, method=method, trustworthiness=known(facts.get("trustworthiness")),
        continuity=known(facts.get("continuity")), axes=axes, frame=frame, path=f"api/projections/{name}.bin",
        trust=f"api/projections/{name}/trust.bin",
    )  # fmt: skip


def positions(view: View, name: str) -> bytes:
    """The points of a projection."""
    view.result("project", name, "projection")
    examples, layers, heads = view.shape
    points = np.empty((examples, layers, heads, 2), np.float32)
    for rows, part in read_blocks(view.atlas, "position", name):
        points[rows.start : rows.stop] = part
    return encoding.positions(points.reshape(-1, 2)).tobytes()


def trust_values(view: View, name: str) -> encoding.Words:
    """How far each point of a projection can be trusted."""
    view.result("project", name, "projection")
    return encoding.amounts(_joined(view, "trust", name, np.asarray, "<f4"), 0.0, 1.0)


def trust(view: View, name: str) -> bytes:
    """The same as a buffer."""
    return trust_values(view, name).tobytes()
