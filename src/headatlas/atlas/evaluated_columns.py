"""Columns of examples that an evaluation adds: what the model answered, and whether that is right."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas.store import Atlas

if TYPE_CHECKING:
    import pyarrow as pa

STAGE = "evaluate"
OF_QUESTIONS, OF_EXAMPLES = "predictions", "answer_spans"  # the tables that hold the values


@dataclass(frozen=True, slots=True)
class EvaluatedColumn:
    """A column of one of the tables of an evaluation; all windows of a question have the values of the question."""

    name: str
    label: str  # in a sentence: heads change with …
    definition: str
    table: str = OF_QUESTIONS


EVALUATED_COLUMNS = (
    EvaluatedColumn("prediction", "the predicted answer", "predicted answer; empty: no answer"),
    EvaluatedColumn("answered", "giving an answer", "whether the model gives an answer"),
    EvaluatedColumn("right", "right answers", "whether the prediction is a gold answer, or none if there is none"),
    EvaluatedColumn("f1", "the F1 of the answer", "how far the words of the prediction agree with a gold answer"),
    EvaluatedColumn("confidence", "confidence in the answer", "probability of the prediction among the best answers"),
    EvaluatedColumn("answerable", "having an answer", "whether there is a gold answer"),
    EvaluatedColumn(
        "answer_first", "the position of the gold answer", "first token of the gold answer in this window", OF_EXAMPLES
    ),
    EvaluatedColumn(
        "answer_last", "the end of the gold answer", "last token of the gold answer in this window", OF_EXAMPLES
    ),
)


def evaluated_columns(atlas: Atlas) -> list[EvaluatedColumn]:
    """The columns that an evaluation adds: none without one. A column of the dataset hides one of the same name."""
    if atlas.latest(STAGE) is None:
        return []
    stored = atlas.table_columns("examples")
    return [column for column in EVALUATED_COLUMNS if column.name not in stored]


def evaluated_values(atlas: Atlas, names: Collection[str] | None = None) -> dict[str, pa.Array]:
    """The value of each column, or of some, for every example; null for an example without a question."""
    columns = [column for column in evaluated_columns(atlas) if names is None or column.name in names]
    if not columns:
        return {}
    of = atlas.needed(STAGE)
    spans = atlas.table(OF_EXAMPLES, of)
    of_questions = [column.name for column in columns if column.table == OF_QUESTIONS]
    predictions = atlas.table(OF_QUESTIONS, of, columns=["question", *of_questions])
    rows = _places(spans["example"].to_numpy(), np.arange(atlas.collection["counts"]["examples"]))
    questions = spans["question"].take(rows).to_numpy(zero_copy_only=False)
    places = _places(predictions["question"].to_numpy(), questions)
    return {
        column.name: (
            predictions[column.name].take(places) if column.table == OF_QUESTIONS else spans[column.name].take(rows)
        ).combine_chunks()
        for column in columns
    }


def _places(known: NDArray[Any], wanted: NDArray[Any]) -> pa.Array:
    """The place of each wanted number among the known ones, which are sorted; null where it is not known."""
    import pyarrow as pa

    wanted = np.nan_to_num(wanted.astype(np.float64), nan=-1)
    places = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return pa.array(places, mask=known[places] != wanted)
