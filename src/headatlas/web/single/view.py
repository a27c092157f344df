"""The view a single file opens on, and the responses it needs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from headatlas import wording
from headatlas.errors import OptionError
from headatlas.web import export_items
from headatlas.web.api.endpoints import ENDPOINTS
from headatlas.web.api.errors import RequestError
from headatlas.web.export_items import Item
from headatlas.web.views import clusters, columns, trees
from headatlas.web.views.snapshot import Snapshot

HEAD = re.compile(r"L?(\d{1,6})[·.:]?H?(\d{1,6})", re.IGNORECASE)
COMMON = ("clusterings", "correlated clusterings", "trees")  # held by every file, see `export_items`
OF_EXAMPLE = (
    "examples", "examples with pooled maps", "examples with images", "examples of clusterings that know unlike maps",
)  # fmt: skip

COMPARISONS = (
    "comparisons", "steps of comparisons", "models of comparisons", "heads of comparisons", "kept maps of comparisons",
)  # fmt: skip
OF_CLUSTERS = ("clusters", "clusterings with exemplars")  # of all clusters: one page leads to another
HeadName = str | tuple[int, int]


@dataclass(frozen=True)
class View:
    """An example, a head, a cluster, or, if all are None, the overview."""

    example: int | None = None
    head: tuple[int, int] | None = None
    cluster: int | None = None

    @property
    def address(self) -> str:
        """The part of the page's address after its file."""
        if self.example is not None:
            return f"#/examples/{self.example}?example={self.example}"
        if self.head is not None:
            layer, head = self.head
            return f"#/head/{layer}.{head}?head={layer}.{head}"
        return "#/overview" if self.cluster is None else f"#/clusters/{self.cluster}?cluster={self.cluster}"

    def holds(self, snapshot: Snapshot) -> str:
        """What a file holds, in words."""
        if self.example is not None:
            what = f"{snapshot.atlas.header['data']['modality']} {self.example}"
        elif self.head is not None:
            what = wording.head_name(*self.head)
        else:
            what = "the overview" if self.cluster is None else f"cluster {self.cluster}"
        return f"{what} of {snapshot.name}"


def choose(snapshot: Snapshot, example: int | None, head: HeadName | None, cluster: int | None) -> View:
    """The requested view, if it exists."""
    if sum(value is not None for value in (example, head, cluster)) > 1:
        raise OptionError("a single file opens on one view: give an example, a head or a cluster")
    view = View(example, None if head is None else _head(head), cluster)
    try:
        snapshot.check_map(view.example or 0, *(view.head or ()))
    except RequestError as error:
        raise OptionError(str(error)) from None
    if cluster is not None:
        _check_cluster(snapshot, cluster)
    return view


def _head(name: HeadName) -> tuple[int, int]:
    if isinstance(name, str):
        match = HEAD.fullmatch(name)
        if match is None:
            raise OptionError(f"{name[:40]!r} is not a head: give its layer and number, such as 3.10")
        return int(match[1]), int(match[2])
    layer, head = name
    return int(layer), int(head)


def current_clustering(snapshot: Snapshot) -> str | None:
    """The clustering that the page shows first: the latest that is correlated, else the latest."""
    names = list(snapshot.atlas.results("cluster"))
    correlated = [name for name in names if name in snapshot.atlas.results("correlate")]
    return next(reversed(correlated or names), None)


def _check_cluster(snapshot: Snapshot, number: int) -> None:
    name = current_clustering(snapshot)
    if name is None:
        raise OptionError(f"{snapshot.name} has no clusters yet. Run: {snapshot.command('cluster')}")
    numbers = [cluster.number for cluster in clusters.ranked(snapshot, name)]
    if number not in numbers:
        raise OptionError(f"there is no cluster {number} in {name}: the clusters are {wording.ranges(numbers)}")


def needed(snapshot: Snapshot, view: View) -> Iterator[Item]:
    """Everything but full maps that the view, the overview and the list of clusters show."""
    for endpoint in (ENDPOINTS.atlas, ENDPOINTS.heads, ENDPOINTS.head_maps, ENDPOINTS.notes):
        yield Item(endpoint, {})
    yield from export_items.items(COMMON, snapshot, [])
    if view.example is not None:
        yield from export_items.items(OF_EXAMPLE, snapshot, [view.example])
    else:
        yield Item(ENDPOINTS.examples, {})
    name = current_clustering(snapshot)
    if name is None:
        return
    if view.head is not None:
        layer, head = view.head
        yield Item(ENDPOINTS.column, {"column": columns.distance_column(name)})
        if name in snapshot.atlas.results("correlate"):
            yield Item(ENDPOINTS.changes, {"clustering": name, "layer": layer, "head": head})
    if view.cluster is not None:
        yield from _of_clustering(snapshot, name, OF_CLUSTERS)
    if view.example is None:
        yield from _labels(snapshot, name)


def _of_clustering(snapshot: Snapshot, name: str, over: tuple[str, ...]) -> Iterator[Item]:
    """What belongs to one clustering."""
    for item in export_items.items(over, snapshot, []):
        if item.values["clustering"] == name:
            yield item


def _labels(snapshot: Snapshot, name: str) -> Iterator[Item]:
    leaves = [columns.leaves_column(name)] if trees.is_tree(snapshot, name) else []
    for column in (columns.labels_column(name), *leaves):
        yield Item(ENDPOINTS.column, {"column": column})


def useful(snapshot: Snapshot, view: View) -> Iterator[Item]:
    """What a view can do without, if it is large: the most useful first."""
    if view.head is not None:  # its thumbnails
        layer, head = view.head
        for example in range(snapshot.shape[0]):
            yield Item(ENDPOINTS.pooled_map, {"example": example, "layer": layer, "head": head})
    yield from export_items.items(("atlas",), snapshot, [])
    if view == View():
        yield from export_items.items(COMPARISONS, snapshot, [])
    name = current_clustering(snapshot)
    if name is None:
        return
    yield from _labels(snapshot, name)
    if columns.has_unlike(snapshot, name):
        yield Item(ENDPOINTS.column, {"column": columns.unlike_column(name)})
    yield Item(ENDPOINTS.column, {"column": columns.distance_column(name)})
    yield from _of_clustering(snapshot, name, (*OF_CLUSTERS, "heads of correlated clusterings"))
