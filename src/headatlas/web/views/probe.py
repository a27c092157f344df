"""What heads look at and write: the results of all analyses."""

from __future__ import annotations

from typing import Any

import numpy as np

from headatlas.atlas import schema
from headatlas.atlas.tokens import read_rows, read_tokens
from headatlas.models.written import word_forms
from headatlas.stages.probe.analyses import ANALYSES
from headatlas.stages.probe.analysis import Analysis, MapAnalysis
from headatlas.web.api.errors import RequestError
from headatlas.web.api.payloads.probe import (
    AnalysisCard,
    Case,
    Distances,
    HeadAnalysis,
    HeadProbe,
    LeadingSentence,
    MeasureCard,
    Measures,
    PanelCard,
    PlacedHead,
    Probe,
    Relation,
    Relations,
    SearchNames,
    TableColumn,
    TableRows,
)
from headatlas.web.views.snapshot import Snapshot
from headatlas.web.views.values import known
from headatlas.wording import capitalize
from headatlas.wording.probe_syntax import found_by

ROWS = 20_000  # of a table that the page shows
MATRIX = 300  # heads whose distances are shown as a matrix
VALUES = ("upos", "xpos", "deprel")  # columns whose values a search offers


def probe(snapshot: Snapshot) -> Probe:
    """All analyses with their findings."""
    return snapshot.cached("probe", lambda: _probe(snapshot))


def _probe(snapshot: Snapshot) -> Probe:
    from headatlas.stages.probe.said import answers

    cards = [
        AnalysisCard(
            name=answer.analysis.name, question=answer.analysis.question, examples=answer.examples,
            missing=answer.missing and capitalize(answer.missing), command=_command(snapshot, answer.command),
            findings=[capitalize(sentence) for sentence in answer.sentences],
            panels=[] if answer.examples is None else _panels(snapshot, answer.analysis),
        )
        for answer in answers(snapshot.atlas, ANALYSES.values())
    ]  # fmt: skip
    return Probe(analyses=cards, command=snapshot.command("probe"), search=_search_names(snapshot))


def _command(snapshot: Snapshot, command: str) -> str:
    """An exported page does not reveal where the atlas was."""
    return command.replace(snapshot.atlas.files.url, snapshot.name) if snapshot.exported else command


def _tables(analysis: Analysis) -> list[schema.Table]:
    """The tables of an analysis, that which its function returns first."""
    tables = [table for table in schema.STAGES["probe"].tables if table.result == analysis.name]
    return sorted(tables, key=lambda table: table.name != analysis.table)


def _panels(snapshot: Snapshot, analysis: Analysis) -> list[PanelCard]:
    panels = []
    for table in _tables(analysis):
        measured = isinstance(analysis, MapAnalysis) and table.name == analysis.table
        panel = analysis.panels.get(table.name, "measures" if measured else "rows")
        if panel != "hidden" and snapshot.atlas.has_table(table.name):
            panels.append(PanelCard(table=table.name, about=capitalize(table.note), panel=panel))
    return panels


def tables(snapshot: Snapshot, panel: str) -> list[str]:
    """The tables that the page shows in a panel of this kind."""
    return [card.table for analysis in probe(snapshot).analyses for card in analysis.panels if card.panel == panel]


def _search_names(snapshot: Snapshot) -> SearchNames | None:
    from headatlas.stages.probe.conditions import KINDS, POSITIONS, SPECIAL

    if snapshot.atlas.header["data"]["modality"] == "image":
        return None
    known_columns = [name for name in VALUES if name in snapshot.atlas.table_columns("examples")]
    values: dict[str, set[str]] = {name: set() for name in known_columns}
    for part in snapshot.atlas.table_parts("examples", known_columns) if known_columns else ():
        for name in known_columns:
            values[name].update(filter(None, (value for row in part[name].to_pylist() for value in row or ())))
    return SearchNames(
        kinds=[*KINDS, SPECIAL],
        positions=list(POSITIONS),
        columns={name: sorted(distinct) for name, distinct in values.items()},
    )


def head(snapshot: Snapshot, layer: int, head: int) -> HeadProbe:
    """What each analysis says about one head."""
    from headatlas.stages.probe.said import answers, leading

    snapshot.check_map(0, layer, head)
    told = [
        LeadingSentence(analysis=each.analysis, sentence=capitalize(each.sentence))
        for each in leading(snapshot.atlas, ANALYSES.values(), layer, head)
    ]
    listed = [
        HeadAnalysis(
            name=answer.analysis.name, question=answer.analysis.question, done=answer.examples is not None,
            sentences=[capitalize(sentence) for sentence in answer.sentences],
            missing=answer.missing and capitalize(answer.missing), command=_command(snapshot, answer.command),
        )
        for answer in answers(snapshot.atlas, ANALYSES.values(), layer, head)
    ]  # fmt: skip
    command = snapshot.command("probe")
    return HeadProbe(layer=layer, head=head, leading=told, command=command, analyses=listed)


def measures(snapshot: Snapshot, table: str) -> Measures:
    """The measures of an analysis as grids of heads."""
    analysis = analysis_of(snapshot, table)
    if not isinstance(analysis, MapAnalysis) or table != analysis.table:
        raise RequestError(404, f"{table[:80]} has no measures of heads.")
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in snapshot.atlas.table(table).to_pylist():
        rows.setdefault(row["measure"], []).append(row)
    return Measures(table=table, measures=[_measure(snapshot, analysis, *item) for item in rows.items()])


def _measure(snapshot: Snapshot, analysis: MapAnalysis, name: str, rows: list[dict[str, Any]]) -> MeasureCard:
    _, layers, heads = snapshot.shape
    grids: dict[str, Any] = {kind: [[None] * heads for _ in range(layers)] for kind in ("mean", "low", "high")}
    for row in rows:
        for kind, grid in grids.items():
            grid[row["layer"]][row["head"]] = known(row[kind])
    declared = analysis.measure(name)
    return MeasureCard(
        name=name, label=capitalize(declared.label), definition=declared.definition, unit=declared.unit,
        share=declared.share, texts=max(row["texts"] for row in rows), **grids,
    )  # fmt: skip


def analysis_of(snapshot: Snapshot, table: str) -> Analysis:
    """The analysis whose result has a table, if it was run."""
    spec = schema.TABLES.get(table)
    if spec is None or spec.result not in ANALYSES or not snapshot.atlas.has_table(table):
        raise RequestError(404, f"There is no table of heads called {table[:80]!r}.", command=snapshot.command("probe"))
    return ANALYSES[spec.result]()


def rows(snapshot: Snapshot, table: str) -> TableRows:
    """The first rows of a table."""
    analysis_of(snapshot, table)
    content = snapshot.atlas.table(table)
    kinds = [str(field.type).startswith(("int", "float", "double", "bool")) for field in content.schema]
    columns = [TableColumn(name=name, numeric=kind) for name, kind in zip(content.column_names, kinds, strict=True)]
    shown = content.slice(0, ROWS).to_pydict()
    lines = [[_cell(value) for value in line] for line in zip(*shown.values(), strict=True)]
    command = f"headatlas table {snapshot.atlas.files.url} {table}"
    return TableRows(
        table=table, columns=columns, rows=lines, total=content.num_rows, command=_command(snapshot, command)
    )


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return known(value)
    return value if value is None or isinstance(value, str | int | bool) else str(value)


def relations(snapshot: Snapshot) -> Relations:
    """Relations with their best heads, and words where these are right and wrong."""
    analysis_of(snapshot, "probe_relations")
    scored = [
        Relation(
            **{name: row[name] for name in Relation.model_fields if name in row},
            found=capitalize(found_by(row["relation"], row["direction"])),
        )
        for row in snapshot.atlas.table("probe_relations").to_pylist()
    ]
    cases = []
    if snapshot.atlas.has_table("probe_syntax_cases"):
        cases = [Case(**row) for row in snapshot.atlas.table("probe_syntax_cases").to_pylist()]
    numbers = sorted({case.example for case in cases})
    return Relations(relations=scored, cases=cases, words=_words(snapshot, numbers) if numbers else {})


def _words(snapshot: Snapshot, numbers: list[int]) -> dict[int, list[str]]:
    """The words of some sentences of a treebank."""
    rows = read_rows(snapshot.atlas, numbers, ["text", "head"])
    encoded = read_tokens(snapshot.atlas, numbers)
    return {
        row["example"]: word_forms(tokens.source, [row["text"]], len(row["head"]))
        for row, tokens in zip(rows, encoded, strict=True)
    }


def distances(snapshot: Snapshot) -> Distances:
    """Heads as points, and as a matrix in the order of their tree."""
    analysis_of(snapshot, "probe_distances")
    placed = snapshot.atlas.table("probe_distance_map").to_pylist()
    placed.sort(key=lambda row: (row["kind"], row["order"]))
    heads = [PlacedHead(**row) for row in placed]
    if len(heads) > MATRIX:
        note = f"{len(heads):,} heads are too many for a matrix of all pairs."
        return Distances(heads=heads, distances=[], note=note)
    column = {(head.layer, head.head): number for number, head in enumerate(heads)}
    matrix = np.full((len(heads), len(heads)), np.nan)
    np.fill_diagonal(matrix, 0)
    for row in snapshot.atlas.table("probe_distances").to_pylist():
        first, second = column[row["layer"], row["head"]], column[row["other_layer"], row["other_head"]]
        matrix[first, second] = matrix[second, first] = row["distance"]
    return Distances(heads=heads, distances=[[known(value) for value in line] for line in matrix], note="")
