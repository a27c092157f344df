"""An evaluation: the tables of predictions and scores, and facts about the questions."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from headatlas import wording
from headatlas.atlas.store import Atlas
from headatlas.evaluate import scorer
from headatlas.evaluate.answers import Answers, Threshold
from headatlas.evaluate.candidates import Candidate
from headatlas.evaluate.gold import NAMED, Question, Questions
from headatlas.numeric.metrics import interval
from headatlas.stages.correlate.effect import Draws
from headatlas.wording import evaluation

DRAWS = 1000  # of the bootstrap over passages
TEXT, WHOLE, REAL, FLAG = pa.string(), pa.int32(), pa.float64(), pa.bool_()
RANKED = pa.struct([("text", TEXT), ("start", WHOLE), ("stop", WHOLE), ("score", REAL), ("probability", REAL)])
PREDICTIONS = pa.schema(
    [("question", pa.int64()), ("id", TEXT), ("prediction", TEXT), ("best_answer", TEXT), ("start", WHOLE),
     ("stop", WHOLE), ("no_answer", REAL), ("difference", REAL), ("answered", FLAG), ("confidence", REAL),
     ("exact", REAL), ("f1", REAL), ("answerable", FLAG), ("right", FLAG), ("passage", WHOLE),
     ("no_answer_score", REAL), ("nbest", pa.list_(RANKED))]
)  # fmt: skip
SCORES = pa.schema([("measure", TEXT), ("value", REAL), ("low", REAL), ("high", REAL)])

Row = dict[str, Any]


@dataclass(frozen=True, repr=False)
class Evaluation:
    """The answers of a model to questions: a row of `predictions` per question, scores with intervals, and facts."""

    predictions: pa.Table
    score_table: pa.Table
    facts: dict[str, Any]
    atlas: Atlas | None = None  # that was collected in the same forward passes

    @property
    def scores(self) -> dict[str, float]:
        """The numbers of the official script by its keys, in percent; totals are counts."""
        values = zip(*(self.score_table[name].to_pylist() for name in ("measure", "value")), strict=True)
        return {name: int(value) if name.endswith("total") else value for name, value in values}

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The tables by their names in an atlas."""
        return {"predictions": self.predictions, "scores": self.score_table}

    @property
    def lines(self) -> list[str]:
        """What the scores say, in sentences."""
        return evaluation.lines(self.facts, self.score_table.to_pylist())

    @property
    def answers_json(self) -> str:
        """The predictions as the file that the official script reads."""
        pairs = zip(*(self.predictions[name].to_pylist() for name in ("id", "prediction")), strict=True)
        return json.dumps(dict(pairs), ensure_ascii=False, indent=1)

    def __repr__(self) -> str:
        return f"<Evaluation {wording.result_line('evaluate', self.facts)}>"


def evaluated(questions: Questions, answers: Sequence[Answers | None], threshold: Threshold, seed: int) -> Evaluation:
    """The evaluation of the answers to all questions; None: the model could not read it."""
    pairs = zip(enumerate(questions.listed), questions.passages, answers, strict=True)
    rows = [_row(number, asked, passage, given, threshold) for (number, asked), passage, given in pairs if given]
    counted = list({row["id"]: row for row in rows}.values())  # the last of each id
    golds = {**dict.fromkeys(questions.unread, ()), **questions.golds}
    predictions, best, no_answer = (
        {row["id"]: row[name] for row in counted} for name in ("prediction", "best_answer", "no_answer")
    )
    scores = scorer.score(golds, predictions) | scorer.best_scores(questions.golds, best, no_answer)
    bounds = _intervals(counted, seed)
    table = [
        {"measure": measure, "value": value} | dict(zip(("low", "high"), bounds.get(measure, ()), strict=False))
        for measure, value in scores.items()
    ]
    facts = _facts(questions, counted, threshold, scores, scorer.unanswered(golds, predictions))
    return Evaluation(pa.Table.from_pylist(rows, PREDICTIONS), pa.Table.from_pylist(table, SCORES), facts)


def _row(number: int, asked: Question, passage: int, given: Answers, threshold: Threshold) -> Row:
    ranked = given.ranked(threshold)
    empty = given.is_empty(threshold)
    chosen = None if empty else given.best[0]
    best = given.best[0] if given.best else None
    exact, f1 = scorer.answer_scores(asked.answers, _text(asked, chosen))
    return {
        "question": number, "id": asked.id, "prediction": _text(asked, chosen), "best_answer": _text(asked, best),
        "start": best and best.start, "stop": best and best.stop, "no_answer": given.probability,
        "difference": given.difference if math.isfinite(given.difference) else None,
        "answered": not empty,
        "confidence": next(share for candidate, share in ranked if candidate == chosen), "exact": exact, "f1": f1,
        "answerable": bool(asked.answers), "right": exact == 1, "passage": passage, "no_answer_score": given.no_answer,
        "nbest": [_ranked_row(asked, candidate, share, given) for candidate, share in ranked],
    }  # fmt: skip


def _ranked_row(asked: Question, candidate: Candidate | None, share: float, given: Answers) -> Row:
    start, stop, score = candidate or (None, None, given.no_answer)
    return {"text": _text(asked, candidate), "start": start, "stop": stop, "score": score, "probability": share}


def _text(asked: Question, candidate: Candidate | None) -> str:
    return "" if candidate is None else asked.passage[candidate.start : candidate.stop]


def _intervals(rows: Sequence[Row], seed: int) -> dict[str, tuple[float, float]]:
    """The 95 % interval of each mean, by a bootstrap over passages; none if there is only one passage."""
    group = np.unique([row["passage"] for row in rows], return_inverse=True)[1]
    groups = int(group.max()) + 1
    weights = np.array(list(Draws(groups, DRAWS, seed)) if groups > 1 else [])
    answerable = np.array([row["answerable"] for row in rows])
    bounds = {}
    for prefix, chosen in (("", answerable | True), ("HasAns_", answerable), ("NoAns_", ~answerable)):
        counts = np.bincount(group[chosen], minlength=groups)
        for measure in ("exact", "f1") if chosen.any() and groups > 1 else ():
            values = np.array([row[measure] for row in rows])
            sums = np.bincount(group[chosen], values[chosen], groups)
            with np.errstate(invalid="ignore", divide="ignore"):
                low, high = interval(100 * (weights @ sums) / (weights @ counts))
            bounds[f"{prefix}{measure}"] = (float(low), float(high))
    return bounds


def _facts(
    questions: Questions, rows: Sequence[Row], threshold: Threshold, scores: Mapping[str, float], missing: Sequence[str]
) -> dict[str, Any]:
    problems = {"missing": missing, "repeated": questions.repeated, "misplaced": questions.misplaced}
    named = {f"{name}_named": list(ids[:NAMED]) for name, ids in problems.items()}
    return {
        "questions": len(rows), "answerable": sum(row["answerable"] for row in rows),
        "passages": len({row["passage"] for row in rows}), "threshold": threshold, "exact": scores["exact"],
        "f1": scores["f1"], "best_f1": scores["best_f1"],
        "best_f1_difference": _difference_at(rows, scores["best_f1_thresh"]),
        **{name: len(ids) for name, ids in problems.items()}, **named,
    }  # fmt: skip


def _difference_at(rows: Sequence[Row], probability: float) -> float | None:
    """The difference of scores that belongs to a probability; None if no answer at all is best."""
    differences = [row["difference"] for row in rows if row["no_answer"] == probability]
    return max((value for value in differences if value is not None), default=None)
