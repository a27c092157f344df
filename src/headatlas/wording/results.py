"""The line that tells what a result is, made from the facts a stage records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headatlas.wording.clusters import cluster_name, named_clusters
from headatlas.wording.numbers import count, many, percent, ratio
from headatlas.wording.thresholds import FAITHFUL, MOSTLY_FAITHFUL

Facts = Mapping[str, Any]
METHODS = {"pca": "PCA", "umap": "UMAP", "tsne": "t-SNE"}


def result_line(stage: str, facts: Facts) -> str:
    """What is worth knowing of a result; empty for stages that record nothing.

    >>> result_line("cluster", {"clusters": [{}, {}], "stability": 0.912, "noise": 0.04})
    '2 clusters, stability 0.91, 4% noise'
    >>> result_line("project", {"method": "pca", "trustworthiness": 0.93, "continuity": 0.91, "variance": [0.4, 0.2]})
    'PCA, trustworthiness 0.93, continuity 0.91, 60% of the variance'
    """
    return LINES[stage](facts) if stage in LINES else ""


def method_name(method: str) -> str:
    """A projection's method, as it is written.

    >>> method_name("tsne"), method_name("my method")
    ('t-SNE', 'my method')
    """
    return METHODS.get(method, method)


def faithful(trustworthiness: float | None) -> str:
    """How far near points of a projection are alike.

    >>> faithful(0.97), faithful(0.9), faithful(0.7)
    ('near points look alike (trustworthiness 0.97)', 'near points mostly look alike (trustworthiness 0.90)', \
'near points often do not look alike (trustworthiness 0.70)')
    """
    if trustworthiness is None:
        return "near points should look alike"
    how = "often do not look" if trustworthiness < MOSTLY_FAITHFUL else "mostly look"
    how = "look" if trustworthiness >= FAITHFUL else how
    return f"near points {how} alike (trustworthiness {ratio(trustworthiness)})"


def _features(facts: Facts) -> str:
    kept = facts.get("encoder", {}).get("variance_kept")
    return f"{count(facts['width'])} numbers per map" + (
        f", {percent(kept)} of the variance" if kept is not None else ""
    )


def _cluster(facts: Facts) -> str:
    noise = f", {percent(facts['noise'])} noise" if facts.get("noise") else ""
    return f"{many(len(facts['clusters']), 'cluster')}, stability {ratio(facts.get('stability'))}{noise}"


def _project(facts: Facts) -> str:
    trust = f"trustworthiness {ratio(facts['trustworthiness'])}, continuity {ratio(facts['continuity'])}"
    variance = f", {percent(sum(facts['variance']))} of the variance" if "variance" in facts else ""
    return f"{method_name(facts['method'])}, {trust}{variance}"


def _correlate(facts: Facts) -> str:
    return named_clusters([cluster_name(one["cluster"], one["phrases"], one["ordinal"]) for one in facts["names"]])


LINES: dict[str, Callable[[Facts], str]] = {
    "features": _features,
    "cluster": _cluster,
    "project": _project,
    "correlate": _correlate,
}
