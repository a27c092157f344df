"""What maps can be colored by: labels, distances, statistics, trust, and the columns of the dataset, as buffers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from headatlas import wording
from headatlas.statistics import statistic
from headatlas.web.api import arrays
from headatlas.web.api.endpoints import ENDPOINTS
from headatlas.web.api.errors import RequestError
from headatlas.web.api.payloads.atlas import ColumnCard
from headatlas.web.views import example_table
from headatlas.web.views.projections import trust_values
from headatlas.web.views.snapshot import Snapshot
from headatlas.web.views.values import amounts, floats, joined, known, value_range, value_ranges

SAFE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class Column:
    """A column, and how its values are read."""

    card: ColumnCard
    values: Callable[[Snapshot], arrays.U16]
    listed: bool = True  # whether maps can be colored by it; if not, another payload names it


def slugs(names: Iterable[str]) -> dict[str, str]:
    """Names that are safe in an address and as a file: the name itself, or its number.

    >>> slugs(["previous", "special:[CLS]", "Title", "title"])
    {'previous': 'previous', 'special:[CLS]': '1', 'Title': 'Title', 'title': '3'}
    """
    chosen: dict[str, str] = {}
    listed = list(names)
    taken = {name.lower() for name in listed}
    for number, name in enumerate(listed):
        slug = name
        if not SAFE.fullmatch(name) or name.lower() in {other.lower() for other in chosen.values()}:
            slug = str(number)
            while slug in taken:
                slug = f"x{slug}"
        chosen[name] = slug
    return chosen


def catalog(snapshot: Snapshot) -> dict[str, Column]:
    """All columns by their slug."""
    return snapshot.cached("columns", lambda: {column.card.slug: column for column in _columns(snapshot)})


def column(snapshot: Snapshot, column: str) -> bytes:
    """The buffer of a column."""
    entry = catalog(snapshot).get(column)
    if entry is None:
        listed = ENDPOINTS.atlas.path()
        raise RequestError(404, f"There is no column called {column[:80]!r}. The columns are listed in {listed}.")
    return entry.values(snapshot).tobytes()


def _columns(snapshot: Snapshot) -> list[Column]:
    columns = []
    for name in snapshot.atlas.results("cluster"):
        columns += [_labels(snapshot, name), _distance(snapshot, name)]
        if snapshot.atlas.has_table("nodes", name):
            columns.append(_leaves(name))
        columns += [_unlike(snapshot, name)] if has_unlike(snapshot, name) else []
    columns += _statistics(snapshot)
    columns += [_trust(name) for name in snapshot.atlas.results("project")]
    return columns + [Column(card, values) for card, values in example_table.columns(snapshot, slugs)]


def cluster_names(snapshot: Snapshot, clustering: str) -> list[str]:
    """Names of the clusters of a clustering by their number; plain numbers until they are correlated."""
    clusters = snapshot.atlas.results("cluster")[clustering]["facts"].get("clusters", [])
    facts = snapshot.atlas.results("correlate").get(clustering, {}).get("facts", {})
    names = {entry["cluster"]: entry["name"] for entry in facts.get("names", [])}
    count = 1 + max((int(cluster["cluster"]) for cluster in clusters), default=-1)
    return [names.get(number, wording.cluster_name(number, None)) for number in range(count)]


def labels_column(clustering: str) -> str:
    """The column with the cluster of each map."""
    return f"cluster.{clustering}"


def distance_column(clustering: str) -> str:
    """The column with the distance of each map from the center of its cluster."""
    return f"distance.{clustering}"


def leaves_column(clustering: str) -> str:
    """The column with the leaf of each map in the tree of a clustering."""
    return f"leaf.{clustering}"


def unlike_column(clustering: str) -> str:
    """The column with how far each map is from what its head usually does."""
    return f"unlike.{clustering}"


def has_unlike(snapshot: Snapshot, clustering: str) -> bool:
    """Whether that is known: the clustering is correlated, from features."""
    return clustering in snapshot.atlas.results("correlate") and snapshot.atlas.has_array("unlike", clustering)


def _labels(snapshot: Snapshot, clustering: str) -> Column:
    name = labels_column(clustering)
    card = _label(name, f"clusters ({clustering})", cluster_names(snapshot, clustering))
    return Column(card, lambda snapshot: joined(snapshot, "labels", clustering, arrays.labels, arrays.DTYPE))


def _leaves(clustering: str) -> Column:
    card = _label(leaves_column(clustering), f"leaves ({clustering})", [])
    return Column(
        card, lambda snapshot: joined(snapshot, "leaves", clustering, arrays.labels, arrays.DTYPE), listed=False
    )


def _label(name: str, label: str, categories: list[str]) -> ColumnCard:
    return ColumnCard(
        name=name, slug=name, label=label, group="clusters", level="map", kind="category", encoding="label", low=None,
        high=None, unit="", categories=categories,
    )  # fmt: skip


def _distance(snapshot: Snapshot, clustering: str) -> Column:
    low, high = snapshot.cached(("distance", clustering), lambda: value_range(snapshot, "distance", clustering))
    name, label = distance_column(clustering), f"distance from the center ({clustering})"
    card = _amount(name, name, label, "clusters", low, high, "")
    return Column(card, lambda snapshot: amounts(floats(snapshot, "distance", clustering), low, high))


def _unlike(snapshot: Snapshot, clustering: str) -> Column:
    low, high = snapshot.cached(("unlike", clustering), lambda: value_range(snapshot, "unlike", clustering))
    name, label = unlike_column(clustering), f"unlike what the head usually does ({clustering})"
    card = _amount(name, name, label, "clusters", low, high, "above 1: among its most unusual")
    return Column(card, lambda snapshot: amounts(floats(snapshot, "unlike", clustering), low, high))


def _trust(projection: str) -> Column:
    name, label = f"trust.{projection}", f"trust in the position ({projection})"
    card = _amount(name, name, label, "projection", 0.0, 1.0, "1: its neighbors are real")
    return Column(card, lambda snapshot: trust_values(snapshot, projection))


def _statistics(snapshot: Snapshot) -> list[Column]:
    columns = []
    lows, highs = snapshot.cached("statistics", lambda: value_ranges(snapshot, "stats"))
    for index, (name, slug) in enumerate(slugs(statistics(snapshot)).items()):
        ends = (known(lows[index]), known(highs[index]))
        declared = statistic(name)
        card = _amount(f"stat.{name}", f"stat.{slug}", declared.label, "statistics", *ends, declared.unit_text)
        columns.append(Column(card, _statistic(index, *ends)))
    return columns


def _statistic(index: int, low: float | None, high: float | None) -> Callable[[Snapshot], arrays.U16]:
    def values(snapshot: Snapshot) -> arrays.U16:
        return amounts(joined(snapshot, "stats", None, lambda block: block[..., index], "<f4"), low, high)

    return values


def _amount(
    name: str, slug: str, label: str, group: Any, low: float | None, high: float | None, unit: str
) -> ColumnCard:
    return ColumnCard(
        name=name, slug=slug, label=label, group=group, level="map", kind="number", encoding="amount", low=low,
        high=high, unit=unit, categories=[],
    )  # fmt: skip


def statistics(snapshot: Snapshot) -> list[str]:
    """Names of the statistics, in the order of the array."""
    return [str(name) for name in snapshot.atlas.array("stats").attrs["stats"]]
