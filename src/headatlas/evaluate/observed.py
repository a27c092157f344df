"""Answers from the forward passes of a collection: each block of it also writes a part of the evaluation."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from typing import Any

import pyarrow as pa

from headatlas.atlas import parts
from headatlas.atlas.store import Atlas
from headatlas.atlas.tokens import read_rows
from headatlas.atlas.writer import Place, Writer
from headatlas.evaluate.answers import Answers, merged
from headatlas.evaluate.candidates import Candidate, WindowScores, group_scores
from headatlas.evaluate.gold import Question, gold_characters
from headatlas.models.answer_spans import token_span
from headatlas.models.encode import Tokens
from headatlas.models.groups import Group
from headatlas.models.model import Model
from headatlas.models.question_head import QuestionHead, read_question_head
from headatlas.numeric.threads import single_thread
from headatlas.stages.collect.batches import reduce_groups
from headatlas.stages.collect.block import block_groups
from headatlas.stages.collect.stat_axis import statistics_of

WHOLE = pa.int32()
CANDIDATES = pa.list_(pa.struct([("start", WHOLE), ("stop", WHOLE), ("score", pa.float64())]))
PART = pa.schema(
    [("example", pa.int64()), ("id", pa.string()), ("window", WHOLE), ("no_answer", pa.float64()),
     ("candidates", CANDIDATES), ("first", WHOLE), ("last", WHOLE)]
)  # fmt: skip
SPANS = pa.schema([("example", pa.int64()), ("question", pa.int64()), ("answer_first", WHOLE), ("answer_last", WHOLE)])
GOLD = ("pair", "answer", "answer_start")  # columns of `examples`

Row = dict[str, Any]


@dataclass(frozen=True)
class AnswerObserver:
    """Runs the head of a model on the outputs of its network; a head in memory is not sent to other processes."""

    place: Place
    source: str
    head: QuestionHead | None = None

    def begin(self, atlas: Atlas, model: Model, number: int, examples: range) -> BlockAnswers:
        """The observer of one block."""
        return BlockAnswers(Writer(self.place), self.head or _loaded(self.source), atlas, model, number, examples)


_loading = threading.Lock()


def _loaded(source: str) -> QuestionHead:
    with _loading:
        return _load(source)


@lru_cache(maxsize=1)
def _load(source: str) -> QuestionHead:
    return read_question_head(source)


@dataclass
class BlockAnswers:
    """The scores of the windows of one block, which become a part of the result."""

    writer: Writer
    head: QuestionHead
    atlas: Atlas
    model: Model
    number: int
    examples: range
    scores: dict[int, WindowScores] = field(default_factory=dict)  # by place in the block
    tokens: dict[int, Tokens] = field(default_factory=dict)

    def see(self, group: Group, output: Any) -> None:
        """Score the windows of one forward pass."""
        logits = self.head.logits(group.batch.inputs, output)
        self.scores |= group_scores(group, logits, self.model.tokenizer)
        self.tokens |= {place: encoded.source for place, encoded in zip(group.places, group.encoded, strict=True)}

    def write(self) -> None:
        """Write the part."""
        names = {*self.atlas.table_columns("examples")}
        rows = read_rows(self.atlas, self.examples, ["id", "window", *(name for name in GOLD if name in names)])
        table = []
        for place, row in enumerate(rows):
            gold = gold_characters(row["pair"], row.get("answer"), row.get("answer_start"))
            first, last = (gold and token_span(self.tokens[place], *gold)) or (None, None)
            scores = self.scores[place]
            candidates = [candidate._asdict() for candidate in scores.candidates]
            table.append(
                {"example": row["example"], "id": row["id"], "window": row["window"], "no_answer": scores.no_answer,
                 "candidates": candidates, "first": first, "last": last}
            )  # fmt: skip
        parts.write_part(self.writer, self.number, pa.Table.from_pylist(table, PART))


@dataclass(frozen=True)
class AnswerBlock:
    """The function that is run on a block that was collected before, without being observed."""

    observer: AnswerObserver
    atlas: Atlas
    model: Model
    ranges: Sequence[range]

    @single_thread()
    def __call__(self, number: int) -> int:
        """Run the network again as `collect` did, and write the part; returns the number of examples."""
        options, examples = self.atlas.options, self.ranges[number]
        observed = self.observer.begin(self.atlas, self.model, number, examples)
        groups = block_groups(self.atlas, self.model, examples, options["batch_tokens"])
        statistics = statistics_of(self.model)
        reduce_groups(self.model, groups, len(examples), options["resolution"], statistics, see=observed.see)
        observed.write()
        return len(examples)


def joined(rows: Iterable[Row], questions: Sequence[Question]) -> tuple[list[Answers | None], pa.Table]:
    """The answers to all questions from the rows of all parts, and the table of spans."""
    answers: list[Answers | None] = [None] * len(questions)
    spans: list[Row] = []
    for number, windows in _by_question(rows, questions):
        scores = [
            WindowScores(row["no_answer"], [Candidate(**candidate) for candidate in row["candidates"]])
            for row in windows
        ]
        answers[number] = merged(scores, questions[number].passage)
        spans += [
            {"example": row["example"], "question": number, "answer_first": row["first"], "answer_last": row["last"]}
            for row in windows
        ]
    return answers, pa.Table.from_pylist(spans, SPANS)


def _by_question(rows: Iterable[Row], questions: Sequence[Question]) -> Iterator[tuple[int, list[Row]]]:
    """The windows of each question that has any, with its number: both are in the order of the dataset."""
    started = -1  # counts windows that begin a question, since ids may occur twice

    def question_of(row: Row) -> int:
        nonlocal started
        started += int(row["window"] == 0)
        return started

    number = 0
    for _, windows in groupby(rows, question_of):
        listed = list(windows)
        while questions[number].id != listed[0]["id"]:
            number += 1  # a question without tokens has no windows
        yield number, listed
        number += 1
