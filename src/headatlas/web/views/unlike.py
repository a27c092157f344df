"""Heads that treat an example unlike others, and in what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.statistics import Statistic, statistic
from headatlas.web.api.errors import RequestError
from headatlas.web.api.payloads.unlike import SharedValue, Unlike, UnlikeHead, UnusualStatistic
from headatlas.web.views import columns
from headatlas.web.views.cards import moments
from headatlas.web.views.clusters import correlate_command, needed
from headatlas.web.views.snapshot import Snapshot
from headatlas.web.views.values import of_example
from headatlas.wording.thresholds import AS_OTHERS, DIFFERS

MOST = 2  # statistics
LEAST = 2  # other examples with a value
Head = tuple[int, int]
Row = dict[str, Any]
Reals = NDArray[np.float64]


def unlike(snapshot: Snapshot, clustering: str, example: int) -> Unlike:
    """The heads that treat an example unlike others, the most unusual first."""
    needed(snapshot, clustering)
    snapshot.check_map(example)
    if not columns.has_unlike(snapshot, clustering):
        raise RequestError(
            404, f"{clustering} was correlated without vectors, or by an earlier version.",
            command=correlate_command(snapshot, clustering),
        )  # fmt: skip
    amounts = of_example(snapshot, "unlike", example, clustering)
    labels = of_example(snapshot, "labels", example, clustering)
    profiles = {(row["layer"], row["head"]): row for row in _profiles(snapshot, clustering)}
    places: list[Head] = [(int(layer), int(head)) for layer, head in np.argwhere(amounts > 1)]
    places.sort(key=lambda place: (-amounts[place], place))
    values = _shared_values(snapshot, clustering, example)
    here = of_example(snapshot, "stats", example).astype(np.float64)
    mean, away = moments(snapshot)[0], _deviations(snapshot, here)
    declared = [statistic(name) for name in columns.statistics(snapshot)]
    return Unlike(
        example=example,
        heads=[
            UnlikeHead(
                layer=place[0],
                head=place[1],
                unlike=float(amounts[place]),
                cluster=int(labels[place]),
                main_cluster=profiles[place]["main_cluster"],
                main_share=profiles[place]["main_share"],
                statistics=_statistics(declared, here[place], mean[place], away[place]),
                value=values.get(place),
            )
            for place in places
        ],
    )


def _profiles(snapshot: Snapshot, clustering: str) -> list[Row]:
    names = ["layer", "head", "main_cluster", "main_share"]
    read = snapshot.atlas.table
    return snapshot.cached(("profiles", clustering), lambda: read("profiles", clustering, columns=names).to_pylist())


def _deviations(snapshot: Snapshot, here: Reals) -> Reals:
    """How far each statistic (layer, head, statistic) is from the mean of its head, in its standard deviations.

    What the text changes for every head does not count: the median over heads is taken off.
    """
    mean, deviation = moments(snapshot)
    with np.errstate(invalid="ignore", divide="ignore"):
        away = np.where(deviation > 0, (here - mean) / deviation, np.nan)
    flat = away.reshape(-1, away.shape[-1])
    known = np.isfinite(flat).any(0)
    usual = np.zeros(flat.shape[1])
    usual[known] = np.nanmedian(flat[:, known], 0)
    deviations: Reals = np.abs(away - usual)
    return deviations


def _statistics(declared: Sequence[Statistic], here: Reals, mean: Reals, away: Reals) -> list[UnusualStatistic]:
    """Those in which a head differs most from its mean; at most one of each group, since those overlap.

    Statistics that grow with the length of a text are left out, as in `correlate`.
    """
    best: dict[str, UnusualStatistic] = {}
    for at in np.argsort(-np.nan_to_num(away, nan=-1.0), kind="stable"):
        kind = declared[at]
        if len(best) == MOST or not np.isfinite(away[at]):
            break
        if not kind.grows and abs(here[at] - mean[at]) >= DIFFERS:
            value, usual = float(here[at]), float(mean[at])
            entry = UnusualStatistic(statistic=kind.name, plain=kind.label, value=value, usual=usual)
            best.setdefault(kind.group, entry)
    return list(best.values())


def _shared_values(snapshot: Snapshot, clustering: str, example: int) -> dict[Head, SharedValue]:
    """For each head the value that other examples, which it treats unlike others too, share with this one.

    Only columns with which the head changes count, and of those that cannot be told apart the first.
    """
    shared: dict[Head, SharedValue] = {}
    if not snapshot.atlas.has_table("values", clustering):
        return shared
    values = snapshot.atlas.table("values", clustering, filters=[("example", "==", example)]).to_pylist()[0]
    for row in _changes(snapshot, clustering):
        value = _shared(row, values[row["column"]])
        place = (row["layer"], row["head"])
        if value and (place not in shared or _share(value) > _share(shared[place])):
            shared[place] = value
    return shared


def _changes(snapshot: Snapshot, clustering: str) -> list[Row]:
    """The heads and columns that change, without columns whose values nearly follow from another."""
    same = snapshot.atlas.facts("correlate", clustering).get("same_columns", {})

    def read() -> list[Row]:
        rows: list[Row] = snapshot.atlas.table("changes", clustering).to_pylist()
        return [row for row in rows if row["rank"] is not None and same.get(row["column"]) is None]

    return snapshot.cached(("changes", clustering), read)


def _shared(row: Row, value: str | None) -> SharedValue | None:
    """The value of this example, if the head treats enough of the other examples with it unlike others."""
    counts = next((item for item in row["values"] if item["value"] == value), None)
    if counts is None or counts["n"] - 1 < LEAST:
        return None
    unlike = max(0, counts["unlike"] - 1)  # without this one
    shared = SharedValue(column=row["column"], value=counts["value"], others=counts["n"] - 1, unlike=unlike)
    return shared if _share(shared) >= AS_OTHERS else None


def _share(value: SharedValue) -> float:
    return value.unlike / value.others
