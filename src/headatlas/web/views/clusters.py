"""Clusterings: what each cluster is, the evidence for it, and how heads share in the clusters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from headatlas import wording
from headatlas.atlas import schema, summaries
from headatlas.statistics import statistic
from headatlas.web.api import encoding
from headatlas.web.api.errors import Problem
from headatlas.web.api.payloads_clusters import (
    Association,
    Cell,
    Cluster,
    ClusterRow,
    Clusters,
    Evidence,
    Factor,
    GoesWith,
    HeadShare,
    Jobs,
    Locality,
    Place,
    Profile,
    Profiles,
    Quality,
    Reason,
    Related,
    Thresholds,
)
from headatlas.web.views.columns import known
from headatlas.web.views.site import View
from headatlas.wording.thresholds import ANALYSIS

Row = dict[str, Any]


def clusters(view: View, name: str) -> Clusters:
    """All clusters of a clustering."""
    view.result("cluster", name, "clustering")
    correlated = name in view.atlas.results("correlate")
    found, shown = ranked(view, name), exemplars(view, name)
    base = f"api/clusterings/{name}"
    by_name = {one["cluster"]: one for one in _rows(view, "clusters", name)}
    return Clusters(
        clustering=name,
        labels=f"api/columns/cluster.{name}.bin",
        distance=f"api/columns/distance.{name}.bin",
        sentence=f"{summaries.sentence(view.atlas, name, found)}.",
        thresholds=_thresholds(view, name),
        jobs=_jobs(view, name) if correlated else None,
        clusters=[_cluster(one, by_name.get(one.number, {}), shown) for one in found],
        exemplars=[
            Place(example=row["example"], layer=row["layer"], head=row["head"], distance=known(row["distance"]))
            for row in shown
        ],
        means=f"{base}/means.bin",
        exemplar_maps=f"{base}/exemplars.bin" if shown else None,
        quality=[Quality(**_known(row, Quality)) for row in _rows(view, "quality", name)],
        associations=[Association(**_known(row, Association)) for row in _rows(view, "associations", name)],
        locality=[Locality(**_known(row, Locality)) for row in _rows(view, "locality", name)],
        command=None if correlated else _correlate(view, name),
    )


def _correlate(view: View, name: str) -> str:
    return f"{view.command('correlate')} --of {name}"


def _thresholds(view: View, name: str) -> Thresholds:
    """Those the result was made with; before correlate, those it would be made with."""
    used = view.atlas.results("correlate").get(name, {}).get("facts", {}).get("thresholds", ANALYSIS)
    return Thresholds(**{field: used[field] for field in Thresholds.model_fields})


def _jobs(view: View, name: str) -> Jobs:
    one_job = view.atlas.table("profiles", name, columns=["one_job"])["one_job"].to_pylist()
    return Jobs(heads=len(one_job), one_job=sum(one_job))


def ranked(view: View, name: str) -> list[summaries.Cluster]:
    """The clusters, the largest first and noise last."""
    if name in view.atlas.results("correlate"):
        return summaries.correlated(view.atlas, name)[1]
    facts = view.atlas.results("cluster")[name]["facts"]
    clusters = [
        summaries.Cluster(
            row["cluster"], wording.cluster_name(row["cluster"], None), row["maps"], row["share"], row["stability"]
        )
        for row in facts["clusters"]
    ]
    total = sum(cluster.maps for cluster in clusters) / max(1e-12, 1 - facts["noise"])
    if facts["noise"]:
        maps = round(total * facts["noise"]) if clusters else _maps(view)
        clusters.append(summaries.Cluster(schema.NOISE, wording.NOISE, maps, facts["noise"], None))
    return sorted(clusters, key=lambda cluster: (cluster.number < 0, -cluster.maps, cluster.number))


def _maps(view: View) -> int:
    """All maps that exist."""
    return view.shape[0] * sum(int(layer["heads"]) for layer in view.atlas.header["model"]["layers"])


def _cluster(one: summaries.Cluster, row: Row, exemplars: list[Row]) -> ClusterRow:
    def places(kind: str) -> list[int]:
        own = (one.number, kind)
        return [place for place, row in enumerate(exemplars) if (row["cluster"], row["kind"]) == own]

    association = row.get("association")
    return ClusterRow(
        cluster=one.number,
        name=one.name,
        phrases=row.get("phrases"),
        ordinal=row.get("ordinal", 1),
        maps=one.maps,
        share=one.share,
        stability=known(one.stability),
        layers=one.layers,
        heads=[HeadShare(**head) for head in one.heads],
        mostly=row.get("mostly"),
        head_entropy=known(row.get("head_entropy")),
        examples=row.get("examples"),
        reasons=[Reason(**reason, plain=statistic(reason["statistic"]).label) for reason in row.get("reasons", [])],
        named=row.get("named", False),
        statistics=row.get("statistics", 0),
        association=GoesWith(**association) if association else None,
        typical=places("typical"),
        unlike=places("unlike"),
    )


def _rows(view: View, table: str, name: str) -> list[Row]:
    """A table of a clustering; none if it is not there yet."""
    if not view.atlas.has_table(table, name):
        return []
    found: list[Row] = view.atlas.table(table, name).to_pylist()
    return found


def _known(row: Row, shape: Any) -> Row:
    """The fields of a payload, NaN as null."""
    kept = {field: row.get(field) for field in shape.model_fields}
    return {field: known(value) if isinstance(value, float) else value for field, value in kept.items()}


def exemplars(view: View, name: str) -> list[Row]:
    """The maps that show the clusters; none of a clustering that is not correlated."""
    return _rows(view, "exemplars", name) if name in view.atlas.results("correlate") else []


def means(view: View, name: str) -> bytes:
    """The mean map of each cluster, in the order of `clusters`."""
    view.result("cluster", name, "clustering")
    numbers = [one.number for one in ranked(view, name)]
    return encoding.attention(summaries.cluster_maps(view.atlas, name, numbers)).tobytes()


def exemplar_maps(view: View, name: str) -> bytes:
    """The maps that show the clusters, in the order of `Clusters.exemplars`."""
    _needed(view, name)
    rows = exemplars(view, name)
    if not rows:
        raise Problem(404, f"The clusters of {name} have no exemplars.", _correlate(view, name))
    places = np.array([(row["example"], row["layer"], row["head"]) for row in rows])
    return encoding.attention(summaries.pooled(view.atlas, places)).tobytes()


def _needed(view: View, name: str) -> None:
    view.result("cluster", name, "clustering")
    if name not in view.atlas.results("correlate"):
        raise Problem(404, f"The clusters of {name} are not correlated yet.", _correlate(view, name))


def cluster(view: View, name: str, number: int) -> Cluster:
    """Where a cluster occurs, and what tells it from the others."""
    _needed(view, name)
    if number not in {one.number for one in ranked(view, name)}:
        raise Problem(404, f"{name} has no cluster {str(number)[:20]}.")
    own = [("cluster", "==", number)]
    cells = view.atlas.table("cells", name, filters=own).to_pylist()
    factors = {row["factor"]: [] for row in cells}  # type: dict[str, list[Cell]]
    for row in cells:
        named = row | {"share": row["share_of_value"], "significant": bool(row["significant"])}
        factors[row["factor"]].append(Cell(**_known(named, Cell)))
    evidence = view.atlas.table("evidence", name, filters=own).to_pylist()
    return Cluster(
        cluster=number,
        factors=[Factor(factor=factor, cells=cells) for factor, cells in factors.items()],
        evidence=_evidence(evidence),
    )


def _evidence(rows: Iterable[Row]) -> list[Evidence]:
    found = []
    for row in rows:
        name = row["statistic"]
        said = {"plain": statistic(name).label, "unit": statistic(name).unit}
        found.append(Evidence(**_known(row | said, Evidence)))
    return sorted(found, key=lambda one: -abs(one.delta or 0))


def profiles(view: View, name: str) -> Profiles:
    """The clusters of every head, and the heads like it."""
    _needed(view, name)
    related: dict[tuple[int, int], list[Related]] = {}
    for row in sorted(_rows(view, "related", name), key=lambda row: row["rank"]):
        other = Related(layer=row["other_layer"], head=row["other_head"], similarity=known(row["similarity"]))
        related.setdefault((row["layer"], row["head"]), []).append(other)
    rows = view.atlas.table("profiles", name).to_pylist()
    return Profiles(
        clusters=[part["cluster"] for part in rows[0]["shares"]] if rows else [],
        heads=[
            Profile(
                layer=row["layer"],
                head=row["head"],
                name=row["name"],
                main_cluster=row["main_cluster"],
                main_share=known(row["main_share"]),
                entropy=known(row["entropy"]),
                one_job=row["one_job"],
                shares=[part["share"] for part in row["shares"]],
                related=related.get((row["layer"], row["head"]), []),
            )
            for row in rows
        ],
    )
