"""SQuAD v1.1 and v2.0, and the packaged corpus, which has the same format."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from headatlas.data.dataset import Example, Window
from headatlas.data.files import load_json
from headatlas.data.reader import Reader
from headatlas.data.spans import Span
from headatlas.errors import DataError

__all__ = ["READERS", "SAMPLE", "passages", "questions"]

SAMPLE = str(Path(__file__).parents[1] / "sample" / "corpus.json")

Record = Mapping[str, Any]
Kind = TypeVar("Kind")


def questions(path: str) -> Iterator[Example]:
    """One example per question: the question is the text, the passage its pair.

    >>> example = next(questions(SAMPLE))
    >>> start = example.columns["answer_start"]
    >>> example.columns["answer"], example.pair[start:][:5]
    ('crabs', 'crabs')
    """
    for article, paragraph in _paragraphs(path):
        context = _need(paragraph, "context", str, path)
        shared = {**_scalars(article), **_scalars(paragraph)}
        if "id" in paragraph:
            shared["paragraph_id"] = paragraph["id"]
        for qa in _need(paragraph, "qas", list, path):
            key = _need(qa, "id", str, path)
            answers, question = _answers(qa, path), _need(qa, "question", str, path)
            columns = {**shared, **_scalars(qa), **answers, "question_id": key}
            spans = _spans(question, context, answers["answer"], answers["answer_start"])
            yield Example(key, text=question, pair=context, columns=columns, spans=spans)


def passages(path: str) -> Iterator[Example]:
    """One example per passage.

    >>> next(passages(SAMPLE)).columns
    {'title': 'Tides', 'topic': 'tides', 'style': 'plain'}
    """
    for number, (article, paragraph) in enumerate(_paragraphs(path)):
        columns = {**_scalars(article), **_scalars(paragraph)}
        text = _need(paragraph, "context", str, path)
        yield Example(str(paragraph.get("id", number)), text=text, columns=columns)


def _paragraphs(path: str) -> Iterator[tuple[Record, Record]]:
    for article in _need(load_json(path), "data", list, path):
        for paragraph in _need(article, "paragraphs", list, path):
            yield article, paragraph


def _answers(qa: Record, path: str) -> dict[str, object]:
    """The gold answers; in v1.1 every question is answerable."""
    gold = _need({"answers": [], **qa}, "answers", list, path)
    texts = [_need(answer, "text", str, path) for answer in gold]
    return {
        "answerable": not qa.get("is_impossible", False),
        "answer": texts[0] if texts else None,
        "answer_start": _need(gold[0], "answer_start", int, path) if gold else None,
        "answers": texts,
    }


def _spans(question: str, context: str, answer: Any, start: Any) -> tuple[Span, ...]:
    """The question, the passage and in it the first answer, if there is one.

    >>> [span.name for span in _spans("Who?", "It was Ann.", "Ann", 7)]
    ['question', 'passage', 'answer', 'passage']
    """
    spans = [Span("question", 0, len(question))]
    if not (answer or "").strip():
        return *spans, Span("passage", 0, len(context), pair=True)
    first = _place(context, answer, start)
    last = first + len(answer)
    if not 0 <= first <= last <= len(context):
        return *spans, Span("answer", first, last, pair=True)  # which is reported
    parts = [("passage", 0, first), ("answer", first, last), ("passage", last, len(context))]
    return *spans, *(Span(*part, pair=True) for part in parts if context[part[1] : part[2]].strip())


def _place(context: str, answer: str, start: int) -> int:
    """Where an answer begins: some files are off by a few characters, so the nearest place that has it."""
    if start >= 0 and context.startswith(answer, start):
        return start
    places = [match.start() for match in re.finditer(re.escape(answer), context)]
    return min(places, key=lambda place: abs(place - start), default=start)


def _scalars(record: Record) -> dict[str, object]:
    """The fields that fit in a cell of a table, except those stored elsewhere."""
    stored_elsewhere = {"id", "context", "question", "is_impossible"}
    return {
        name: value
        for name, value in record.items()
        if name not in stored_elsewhere and (value is None or isinstance(value, str | int | float))
    }


def _need(record: Any, name: str, kind: type[Kind], path: str) -> Kind:
    value = record.get(name) if isinstance(record, dict) else None
    if isinstance(value, kind):
        return value
    where = f" at id {record['id']!r}" if isinstance(record, dict) and "id" in record else ""
    raise DataError(
        f"{path} is not in SQuAD format: no {name!r} ({kind.__name__}){where}. Expected "
        '{"data": [{"title", "paragraphs": [{"context", "qas": [{"id", "question", "answers"}]}]}]}; '
        "read other JSON as .jsonl, one object per line."
    )


READERS = (
    Reader(
        "sample",
        plain=passages,
        fixed=SAMPLE,
        example="a passage of the packaged corpus: 140 of them on 20 topics",
        id="`tides-0`",
    ),
    Reader(
        "sample:questions",
        plain=questions,
        fixed=SAMPLE,
        window=Window(),
        group="pair",
        example="a question on one of these passages: 300, a third without an answer",
        id="`tides-0-1`",
    ),
    Reader(
        "squad:",
        plain=questions,
        window=Window(),
        group="pair",
        example="a question of SQuAD v1.1 or v2.0",
        id="the question's id",
    ),
)
