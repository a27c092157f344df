"""Clusterings: what each cluster is, the evidence for it, and the clusters of each head."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from headatlas import wording
from headatlas.atlas import schema, summaries
from headatlas.statistics import statistic
from headatlas.web.api import arrays
from headatlas.web.api.errors import RequestError
from headatlas.web.api.payloads.clusters import (
    Association,
    Cell,
    Cluster,
    ClusterRow,
    Clusters,
    Distinction,
    Evidence,
    Factor,
    GoesWith,
    HeadDistance,
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
from headatlas.web.api.payloads.nulls import NullShare
from headatlas.web.views import columns, nulls
from headatlas.web.views.snapshot import Snapshot
from headatlas.web.views.values import known, known_fields
from headatlas.wording.thresholds import ANALYSIS

Row = dict[str, Any]


def clusters(snapshot: Snapshot, clustering: str) -> Clusters:
    """All clusters of a clustering."""
    snapshot.result("cluster", clustering, "clustering")
    correlated = clustering in snapshot.atlas.results("correlate")
    ordered, shown = ranked(snapshot, clustering), exemplars(snapshot, clustering)
    by_number = {row["cluster"]: row for row in _rows(snapshot, "clusters", clustering)}
    null_shares = nulls.null_shares(snapshot, clustering)
    return Clusters(
        clustering=clustering,
        labels=columns.labels_column(clustering),
        distance=columns.distance_column(clustering),
        sentence=f"{summaries.sentence(snapshot.atlas, clustering, ordered)}.",
        thresholds=_thresholds(snapshot, clustering),
        groups=snapshot.atlas.facts("correlate", clustering)["groups"] if correlated else None,
        jobs=_jobs(snapshot, clustering) if correlated else None,
        clusters=[
            _cluster(cluster, by_number.get(cluster.number, {}), shown, null_shares.get(cluster.number, []))
            for cluster in ordered
        ],
        exemplars=[
            Place(example=row["example"], layer=row["layer"], head=row["head"], distance=known(row["distance"]))
            for row in shown
        ],
        knows_heads=summaries.knows_heads(snapshot.atlas, clustering),
        quality=[Quality(**known_fields(row, Quality)) for row in _rows(snapshot, "quality", clustering)],
        associations=[
            Association(**known_fields(row, Association)) for row in _rows(snapshot, "associations", clustering)
        ],
        locality=[Locality(**known_fields(row, Locality)) for row in _rows(snapshot, "locality", clustering)],
        null=nulls.null_models(snapshot, clustering),
        unlike=columns.unlike_column(clustering) if columns.has_unlike(snapshot, clustering) else None,
        command=None if correlated else correlate_command(snapshot, clustering),
    )


def correlate_command(snapshot: Snapshot, clustering: str) -> str:
    """The command that correlates a clustering."""
    return f"{snapshot.command('correlate')} --of {clustering}"


def _thresholds(snapshot: Snapshot, clustering: str) -> Thresholds:
    """Those the result was made with; before correlate, those it would be made with."""
    used = snapshot.atlas.results("correlate").get(clustering, {}).get("facts", {}).get("thresholds", ANALYSIS)
    return Thresholds(**{field: used.get(field, ANALYSIS[field]) for field in Thresholds.model_fields})


def _jobs(snapshot: Snapshot, clustering: str) -> Jobs:
    one_job = snapshot.atlas.table("profiles", clustering, columns=["one_job"])["one_job"].to_pylist()
    return Jobs(heads=len(one_job), one_job=sum(one_job))


def ranked(snapshot: Snapshot, clustering: str) -> list[summaries.Cluster]:
    """The clusters, the largest first and noise last."""
    if clustering in snapshot.atlas.results("correlate"):
        return summaries.correlated(snapshot.atlas, clustering)[1]
    facts = snapshot.atlas.results("cluster")[clustering]["facts"]
    clusters = [
        summaries.Cluster(
            row["cluster"], wording.cluster_name(row["cluster"], None), row["maps"], row["share"], row["stability"]
        )
        for row in facts["clusters"]
    ]
    total = sum(cluster.maps for cluster in clusters) / max(1e-12, 1 - facts["noise"])
    if facts["noise"]:
        maps = round(total * facts["noise"]) if clusters else _maps(snapshot)
        clusters.append(summaries.Cluster(schema.NOISE, wording.NOISE, maps, facts["noise"], None))
    return sorted(clusters, key=lambda cluster: (cluster.number < 0, -cluster.maps, cluster.number))


def _maps(snapshot: Snapshot) -> int:
    """All maps that exist."""
    return snapshot.shape[0] * sum(int(layer["heads"]) for layer in snapshot.atlas.header["model"]["layers"])


def _cluster(cluster: summaries.Cluster, row: Row, exemplars: list[Row], null_shares: list[NullShare]) -> ClusterRow:
    def places(kind: str) -> list[int]:
        wanted = (cluster.number, kind)
        return [place for place, row in enumerate(exemplars) if (row["cluster"], row["kind"]) == wanted]

    association = row.get("association")
    return ClusterRow(
        cluster=cluster.number,
        name=cluster.name,
        phrases=row.get("phrases"),
        distinction=distinction(row.get("distinction")),
        maps=cluster.maps,
        share=cluster.share,
        stability=known(cluster.stability),
        layers=cluster.layers,
        heads=[HeadShare(**head) for head in cluster.heads],
        mostly=row.get("mostly"),
        head_entropy=known(row.get("head_entropy")),
        examples=row.get("examples"),
        reasons=[Reason(**reason, plain=statistic(reason["statistic"]).label) for reason in row.get("reasons", [])],
        named=row.get("named", False),
        statistics=row.get("statistics", 0),
        association=GoesWith(**association) if association else None,
        nulls=null_shares,
        typical=places("typical"),
        unlike=places("unlike"),
    )


def distinction(values: Row | None) -> Distinction | None:
    """What tells a pattern from others of the same name, with its statistic in words."""
    if values is None:
        return None
    plain = statistic(values["statistic"]).label if values["statistic"] else None
    return Distinction(**values, plain=plain)


def _rows(snapshot: Snapshot, table: str, clustering: str) -> list[Row]:
    """A table of a clustering; none if it is not there yet."""
    if not snapshot.atlas.has_table(table, clustering):
        return []
    rows: list[Row] = snapshot.atlas.table(table, clustering).to_pylist()
    return rows


def exemplars(snapshot: Snapshot, clustering: str) -> list[Row]:
    """The maps that show the clusters; none if the clustering is not correlated."""
    return _rows(snapshot, "exemplars", clustering) if clustering in snapshot.atlas.results("correlate") else []


def means(snapshot: Snapshot, clustering: str) -> bytes:
    """The mean map of each cluster, in the order of `clusters`."""
    snapshot.result("cluster", clustering, "clustering")
    numbers = [cluster.number for cluster in ranked(snapshot, clustering)]
    return arrays.attention(summaries.cluster_maps(snapshot.atlas, clustering, numbers)).tobytes()


def exemplar_maps(snapshot: Snapshot, clustering: str) -> bytes:
    """The maps that show the clusters, in the order of `Clusters.exemplars`."""
    needed(snapshot, clustering)
    rows = exemplars(snapshot, clustering)
    if not rows:
        raise RequestError(
            404, f"The clusters of {clustering} have no exemplars.", command=correlate_command(snapshot, clustering)
        )
    places = np.array([(row["example"], row["layer"], row["head"]) for row in rows])
    return arrays.attention(summaries.pooled(snapshot.atlas, places)).tobytes()


def needed(snapshot: Snapshot, clustering: str) -> None:
    """Raise an error that names the command unless a clustering is correlated."""
    snapshot.result("cluster", clustering, "clustering")
    if clustering not in snapshot.atlas.results("correlate"):
        command = correlate_command(snapshot, clustering)
        raise RequestError(404, f"The clusters of {clustering} are not correlated yet.", command=command)


def cluster(snapshot: Snapshot, clustering: str, cluster: int) -> Cluster:
    """Where a cluster occurs, and what distinguishes it from the others."""
    needed(snapshot, clustering)
    if cluster not in {ranked_cluster.number for ranked_cluster in ranked(snapshot, clustering)}:
        raise RequestError(404, f"{clustering} has no cluster {str(cluster)[:20]}.")
    filters = [("cluster", "==", cluster)]
    cells = snapshot.atlas.table("cells", clustering, filters=filters).to_pylist()
    factors = {row["factor"]: [] for row in cells}  # type: dict[str, list[Cell]]
    null_shares = nulls.head_shares(snapshot, clustering, cluster)
    for row in cells:
        named = row | {"share": row["share_of_value"], "significant": bool(row["significant"])}
        named["nulls"] = null_shares.get((row["layer"], row["head"]), [])
        factors[row["factor"]].append(Cell(**known_fields(named, Cell)))
    evidence = snapshot.atlas.table("evidence", clustering, filters=filters).to_pylist()
    return Cluster(
        cluster=cluster,
        factors=[Factor(factor=factor, cells=cells) for factor, cells in factors.items()],
        evidence=_evidence(evidence),
    )


def _evidence(rows: Iterable[Row]) -> list[Evidence]:
    evidence = []
    for row in rows:
        name = row["statistic"]
        words = {"plain": statistic(name).label, "unit": statistic(name).unit_text}
        evidence.append(Evidence(**known_fields(row | words, Evidence)))
    return sorted(evidence, key=lambda item: -abs(item.delta or 0))


def profiles(snapshot: Snapshot, clustering: str) -> Profiles:
    """The clusters of every head, and the heads like it."""
    needed(snapshot, clustering)
    related: dict[tuple[int, int], list[Related]] = {}
    for row in sorted(_rows(snapshot, "related", clustering), key=lambda row: row["rank"]):
        numbers = {"distance": row["distance"], "closer_than": row["closer_than"]}
        other = Related(layer=row["other_layer"], head=row["other_head"], **numbers)
        related.setdefault((row["layer"], row["head"]), []).append(other)
    rows = snapshot.atlas.table("profiles", clustering).to_pylist()
    scale = snapshot.atlas.facts("correlate", clustering).get("head_distance")
    return Profiles(
        head_distance=HeadDistance(**scale) if scale else None,
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
