"""The line that describes a result, made from the facts a stage records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headatlas.wording.clusters import named_clusters
from headatlas.wording.compare import changed_heads, compare_result
from headatlas.wording.evaluation import evaluation_line
from headatlas.wording.heads import head_name
from headatlas.wording.nulls import null_result
from headatlas.wording.numbers import amount, count, many, percent, ratio
from headatlas.wording.thresholds import FAITHFUL, MOSTLY_FAITHFUL

Facts = Mapping[str, Any]
METHODS = {"pca": "PCA", "umap": "UMAP", "tsne": "t-SNE"}


def result_line(stage: str, facts: Facts) -> str:
    """A short description of a result; empty for stages that record nothing.

    >>> result_line("cluster", {"clusters": [{}, {}], "stability": 0.912, "noise": 0.04})
    '2 clusters, stability 0.91, 4% noise'
    >>> result_line("project", {"method": "pca", "trustworthiness": 0.93, "continuity": 0.91, "variance": [0.4, 0.2]})
    'PCA, trustworthiness 0.93, continuity 0.91, 60% of the variance'
    >>> result_line("tsne", {"kind": "heads", "example": 3, "layouts": 72, "best": [0, 2], "kl": 0.314})
    '72 heads on example 3, least KL 0.31 (L0·H2)'
    >>> result_line("tsne", {"kind": "compare", "examples": 1, "runs": 16, "layouts": 1248})
    '1 text, 16 runs, 1,248 layouts'
    """
    return LINES[stage](facts) if stage in LINES else ""


def method_name(method: str) -> str:
    """The usual name of a projection's method.

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
    variance = facts.get("encoder", {}).get("variance_kept")
    return f"{count(facts['width'])} numbers per map" + (
        f", {percent(variance)} of the variance" if variance is not None else ""
    )


def _cluster(facts: Facts) -> str:
    noise = f", {percent(facts['noise'])} noise" if facts.get("noise") else ""
    return f"{many(len(facts['clusters']), 'cluster')}, stability {ratio(facts.get('stability'))}{noise}"


def _project(facts: Facts) -> str:
    trust = f"trustworthiness {ratio(facts['trustworthiness'])}, continuity {ratio(facts['continuity'])}"
    variance = f", {percent(sum(facts['variance']))} of the variance" if "variance" in facts else ""
    return f"{method_name(facts['method'])}, {trust}{variance}"


def _correlate(facts: Facts) -> str:
    return named_clusters([entry["name"] for entry in facts["names"]])


def _null(facts: Facts) -> str:
    return null_result(facts["kinds"], facts["examples"])


def _compare(facts: Facts) -> str:
    """What was compared, and how many heads changed, where that is known of the last step.

    >>> _compare({"first": "base", "steps": ["tuned"], "noise": ["s1"], "examples": 140, "changed": [8], "heads": 72})
    'base → tuned, on 140 examples, beside one seed; 8 of 72 heads changed more than between seeds'
    """
    line = compare_result(facts["first"], facts["steps"], len(facts["noise"]), facts["examples"])
    changed = facts["changed"][-1]
    return line if changed is None else f"{line}; {changed_heads(changed, facts['heads'])}"


def _tsne(facts: Facts) -> str:
    if facts["kind"] == "compare":
        return f"{_texts(facts)}, {many(facts['runs'], 'run')}, {many(facts['layouts'], 'layout')}"
    if facts["kind"] == "robustness":
        return f"{_texts(facts)}, disturbed {many(facts['repeats'], 'time')}, {many(facts['layouts'], 'layout')}"
    heads = facts["kind"] == "heads"
    what = many(facts["layouts"], "head") if heads else f"hidden states of {many(facts['layouts'], 'layer')}"
    line = f"{what} on example {count(facts['example'])}"
    if facts["best"] is None:
        return line
    where = head_name(*facts["best"]) if heads else f"L{facts['best'][0]}"
    return f"{line}, least KL {amount(facts['kl'])} ({where})"


def _texts(facts: Facts) -> str:
    return many(facts["examples"], "text")


def _qk(facts: Facts) -> str:
    """What was drawn, how far distance mirrors attention, and how far plots can be trusted.

    >>> mirrors = {"correlation": -0.9, "spearman": -0.876, "trust": 0.951}
    >>> _qk({"method": "tsne", "dims": 2, "heads": 72, "tokens": 5000} | mirrors)
    't-SNE of 72 heads, 5,000 tokens, correlation −0.88, trustworthiness 0.95'
    """
    dims = "" if facts["dims"] == 2 else f" in {facts['dims']} dimensions"
    mirrors = f"correlation {ratio(facts['spearman'])}, trustworthiness {ratio(facts['trust'])}"
    drawn = f"{many(facts['heads'], 'head')}{dims}, {many(facts['tokens'], 'token')}"
    return f"{method_name(facts['method'])} of {drawn}, {mirrors}"


def _probe(facts: Facts) -> str:
    """What was read, and how many heads have each role, if roles were looked for.

    >>> _probe({"examples": 64, "few": False, "roles": {"previous": 3, "next": 0, "induction": 1}})
    '64 texts; heads with a role: 3 previous, 1 induction'
    >>> _probe({"examples": 1, "few": True, "roles": {"previous": 0}})
    '1 text, too few to test for roles; heads with a role: none'
    """
    if "roles" not in facts:
        return _texts(facts)
    few = ", too few to test for roles" if facts["few"] else ""
    roles = ", ".join(f"{count(heads)} {role}" for role, heads in facts["roles"].items() if heads)
    return f"{_texts(facts)}{few}; heads with a role: {roles or 'none'}"


LINES: dict[str, Callable[[Facts], str]] = {
    "evaluate": evaluation_line,
    "features": _features,
    "cluster": _cluster,
    "project": _project,
    "correlate": _correlate,
    "null": _null,
    "tsne": _tsne,
    "qk": _qk,
    "probe": _probe,
    "compare": _compare,
}
