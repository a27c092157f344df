"""Questions of datasets, checked: what cannot be trained on is counted by its reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from headatlas.data import Dataset, Example
from headatlas.errors import DataError
from headatlas.stages.finetune.question_features import Question
from headatlas.wording.finetune import left_out_line

MISPLACED = "the text at answer_start is not the answer"
UNKNOWN = "neither answers nor is_impossible"
REPEATED = "an id that occurred before"


@dataclass
class Read:
    """Questions, and the ids of those left out, by reason."""

    questions: list[Question] = field(default_factory=list)
    left_out: dict[str, list[str]] = field(default_factory=dict)

    def lines(self) -> tuple[str, ...]:
        """One line per reason."""
        return tuple(left_out_line("question", reason, ids) for reason, ids in self.left_out.items())


def read_questions(datasets: Iterable[Dataset]) -> Read:
    """The questions of all datasets that can be trained on."""
    read, seen = Read(), set[str]()
    for dataset in datasets:
        for example in dataset:
            _check_columns(example, dataset)
            reason = REPEATED if example.id in seen else fault(example)
            seen.add(example.id)
            if reason is None:
                read.questions.append(_question(example))
            else:
                read.left_out.setdefault(reason, []).append(example.id)
        for item in dataset.skipped:
            read.left_out.setdefault(item.reason, []).append(item.id)
    if not read.questions:
        raise DataError(f"there is no question to train on: {'; '.join(read.lines())}. Check the files")
    return read


def _check_columns(example: Example, dataset: Dataset) -> None:
    if example.pair is None or not {"answerable", "answer", "answer_start"} <= set(example.columns):
        raise DataError(f"{dataset.name} is not in SQuAD format. Give squad:FILE.json or sample:questions")


def fault(example: Example) -> str | None:
    """Why a question cannot be trained on, or None."""
    columns = example.columns
    if not columns["answerable"]:
        return None
    answer, start = columns["answer"], columns["answer_start"]
    if not isinstance(answer, str) or not isinstance(start, int):
        return UNKNOWN
    misplaced = not answer or start < 0 or (example.pair or "")[start : start + len(answer)] != answer
    return MISPLACED if misplaced else None


def _question(example: Example) -> Question:
    columns = example.columns
    start, answer = columns["answer_start"], columns["answer"]
    span = (
        (start, start + len(answer))
        if columns["answerable"] and isinstance(start, int) and isinstance(answer, str)
        else None
    )
    return Question(example.id, example.text or "", example.pair or "", span, str(columns.get("title") or ""))
