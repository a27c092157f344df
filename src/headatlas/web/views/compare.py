"""Comparisons with other models: what moved, layer by layer and head by head, in sentences and numbers."""

from __future__ import annotations

from typing import Any

from headatlas import wording
from headatlas.atlas import summaries
from headatlas.atlas.store import Entry
from headatlas.statistics import statistic
from headatlas.web.api.errors import RequestError
from headatlas.web.api.payloads.atlas import StatisticCard
from headatlas.web.api.payloads.compare import (
    ComparedHead,
    ComparedModel,
    Comparison,
    ComparisonCard,
    Comparisons,
    ComparisonStep,
    HeadSeries,
    HeadShift,
    HeadStep,
    KeptExample,
    KeptExamples,
    LayerShift,
    MatchedHead,
    PatternChange,
    StatisticChange,
)
from headatlas.web.views.snapshot import Snapshot
from headatlas.web.views.values import known, known_fields
from headatlas.wording import compare as words

Row = dict[str, Any]


def comparisons(snapshot: Snapshot) -> Comparisons:
    """All comparisons of the atlas."""
    results = snapshot.atlas.results("compare")
    cards = [
        ComparisonCard(name=name, line=wording.result_line("compare", entry["facts"]))
        for name, entry in results.items()
    ]
    return Comparisons(comparisons=cards, command=snapshot.command("compare"))


def needed(snapshot: Snapshot, comparison: str) -> Entry:
    """A finished comparison, or an error that says what to run."""
    return snapshot.result("compare", comparison, "comparison")


def rows(snapshot: Snapshot, table: str, comparison: str) -> list[Row]:
    """A table of a comparison, read once; none if it has no such table."""
    needed(snapshot, comparison)
    if not snapshot.atlas.has_table(table, comparison):
        return []
    return snapshot.cached((table, comparison), lambda: snapshot.atlas.table(table, comparison).to_pylist())


def steps(snapshot: Snapshot, comparison: str) -> int:
    """Number of steps of a comparison."""
    return len(needed(snapshot, comparison)["facts"]["steps"])


def statistics(snapshot: Snapshot, comparison: str) -> list[str]:
    """The statistics that are compared, in the order of the table: the same for every step and head."""
    return list(dict.fromkeys(row["statistic"] for row in rows(snapshot, "compare_stats", comparison)))


def comparison(snapshot: Snapshot, comparison: str) -> Comparison:
    """What holds for all steps."""
    from headatlas.compare.findings import series_findings

    facts = needed(snapshot, comparison)["facts"]
    clustering = facts["clustering"] if facts["clustering"] in snapshot.atlas.results("cluster") else None
    declared = [statistic(name) for name in statistics(snapshot, comparison)]
    series = [row for row in rows(snapshot, "compare_series", comparison) if row["statistic"] is not None]
    return Comparison(
        name=comparison, match=facts["match"], same_tokens=facts["same_tokens"], clustering=clustering,
        models=[ComparedModel(**known_fields(row, ComparedModel))
                for row in rows(snapshot, "compare_models", comparison)],
        statistics=[StatisticCard(name=each.name, plain=each.label, unit=each.unit_text) for each in declared],
        examples=facts["examples"], groups=facts["groups"], significant=facts["thresholds"]["significant"],
        least=facts["thresholds"]["changed"], across=int(snapshot.atlas.array("compare_mean", comparison).shape[2]),
        series=[_series(row) for row in series], findings=_sentences(series_findings(snapshot.atlas, comparison)),
    )  # fmt: skip


def _series(row: Row) -> HeadSeries:
    numbers = {name: [known(value) for value in row[name]] for name in ("values", "low", "high")}
    return HeadSeries(
        layer=row["layer"], head=row["head"], statistic=row["statistic"], taken_up=row["taken_up"], **numbers
    )


def step(snapshot: Snapshot, comparison: str, step: int) -> ComparisonStep:
    """One step beside the first model."""
    from headatlas.compare.findings import findings

    _check_step(snapshot, comparison, step)
    parts = {name: _of_step(snapshot, f"compare_{name}", comparison, step)
             for name in ("heads", "layers", "patterns", "matches")}  # fmt: skip
    differences = _differences(snapshot, comparison)[step]
    labels = needed(snapshot, comparison)["facts"]["steps"]
    label = labels[step - 1] if len(labels) > 1 else ""
    sentences, lead = _sentences(findings(snapshot.atlas, comparison, step)), _lead(parts["heads"], label)
    repeated = _sentences([_changed(parts["heads"])])  # the sentence that leads says it too
    return ComparisonStep(
        step=step,
        sentence=lead or sentences[0],
        findings=[line for line in sentences if line not in repeated],
        heads=[
            HeadShift(**known_fields(row, HeadShift) | {"differences": differences[row["layer"], row["head"]]})
            for row in parts["heads"]
        ],
        layers=[LayerShift(**known_fields(row, LayerShift)) for row in parts["layers"]],
        patterns=[PatternChange(**known_fields(row, PatternChange)) for row in parts["patterns"]],
        matches=[MatchedHead(**known_fields(row, MatchedHead)) for row in parts["matches"]],
    )


def _sentences(lines: list[str]) -> list[str]:
    return [f"{wording.capitalize(line)}." for line in lines]


def _lead(heads: list[Row], step: str) -> str:
    """The sentence that leads; empty if maps are not compared."""
    moved = [row for row in heads if row["shift"] is not None]
    if not moved:
        return ""
    changed = [row for row in moved if row["changed"]]
    tested = any(row["changed"] is not None for row in moved)
    places = {row["layer"] for row in changed}
    layers = [] if places == {row["layer"] for row in moved} else sorted(places)  # all layers: that says nothing
    most: Any = max(changed or moved, key=lambda row: row["excess"] if changed else row["shift"])
    return _sentences([words.headline(len(changed) if tested else None, len(moved), layers, most, step)])[0]


def _changed(heads: list[Row]) -> str:
    """How many heads changed."""
    return words.changed_heads(
        sum(bool(row["changed"]) for row in heads), sum(row["shift"] is not None for row in heads)
    )


def _check_step(snapshot: Snapshot, comparison: str, step: int) -> None:
    last = steps(snapshot, comparison)
    if not 1 <= step <= last:
        raise RequestError(404, f"There is no step {str(step)[:20]} of {comparison}: they go from 1 to {last}.")


def _of_step(snapshot: Snapshot, table: str, comparison: str, step: int) -> list[Row]:
    return [row for row in rows(snapshot, table, comparison) if row["step"] == step]


def _differences(snapshot: Snapshot, comparison: str) -> dict[int, dict[tuple[int, int], list[float | None]]]:
    """The differences of all statistics in their order, by step and head."""

    def read() -> dict[int, dict[tuple[int, int], list[float | None]]]:
        ordered: dict[int, dict[tuple[int, int], list[float | None]]] = {}
        for row in rows(snapshot, "compare_stats", comparison):
            heads = ordered.setdefault(row["step"], {})
            heads.setdefault((row["layer"], row["head"]), []).append(known(row["difference"]))
        return ordered

    return snapshot.cached(("compare differences", comparison), read)


def head(snapshot: Snapshot, comparison: str, layer: int, head: int) -> ComparedHead:
    """The statistics of one head before and after, at every step."""
    snapshot.check_map(0, layer, head)
    of_head = _statistics(snapshot, comparison).get((layer, head), [])
    listed = [
        HeadStep(
            step=number, sentence=_change(snapshot, comparison, number, layer, head),
            statistics=[StatisticChange(**known_fields(row, StatisticChange))
                        for row in sorted((row for row in of_head if row["step"] == number), key=_size, reverse=True)],
        )
        for number in range(1, steps(snapshot, comparison) + 1)
    ]  # fmt: skip
    return ComparedHead(layer=layer, head=head, steps=listed)


def _change(snapshot: Snapshot, comparison: str, step: int, layer: int, head: int) -> str:
    """What a head does differently at a step."""
    from headatlas.compare.findings import difference

    row = next(row for row in _of_step(snapshot, "compare_heads", comparison, step)
               if (row["layer"], row["head"]) == (layer, head))  # fmt: skip
    line = words.change(difference(row, _names(snapshot, comparison)))
    return _sentences([line])[0] if line else ""


def _names(snapshot: Snapshot, comparison: str) -> dict[int, str]:
    """The names of the patterns; none without a clustering."""
    clustering = needed(snapshot, comparison)["facts"]["clustering"]
    if clustering is None:
        return {}
    return snapshot.cached(("cluster names", clustering), lambda: summaries.names(snapshot.atlas, clustering))


def _statistics(snapshot: Snapshot, comparison: str) -> dict[tuple[int, int], list[Row]]:
    """Rows of `compare_stats` by head."""

    def read() -> dict[tuple[int, int], list[Row]]:
        grouped: dict[tuple[int, int], list[Row]] = {}
        for row in rows(snapshot, "compare_stats", comparison):
            grouped.setdefault((row["layer"], row["head"]), []).append(row)
        return grouped

    return snapshot.cached(("compare statistics", comparison), read)


def _size(row: Row) -> tuple[bool, float]:
    """How large a change is, in units of the least that matters; statistics that no phrase goes with come last."""
    declared = statistic(row["statistic"])
    return declared.high is not None, abs(known(row["difference"]) or 0.0) / declared.least


def examples(snapshot: Snapshot, comparison: str) -> KeptExamples:
    """The examples whose maps are kept."""
    listed = [
        KeptExample(
            place=row["place"], example=row["example"], id=str(row["id"]), window=row["window"] or 0,
            tokens=row["tokens"], target=row["target"] or [], shift=[known(value) for value in row["shift"]],
        )
        for row in rows(snapshot, "compare_examples", comparison)
    ]  # fmt: skip
    return KeptExamples(examples=listed)
