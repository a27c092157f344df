"""Texts with their classes, checked: what cannot be trained on is counted by its reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from headatlas.data import Dataset, Example
from headatlas.errors import DataError
from headatlas.models.encode import encode
from headatlas.models.task_networks import TaskNetwork
from headatlas.stages.finetune.batches import Feature
from headatlas.stages.finetune.task import Items
from headatlas.wording.finetune import left_out_line

MOST = 1000  # classes
UNLABELED = "no class"
UNSEEN = "a class that is not in the training data"


@dataclass(frozen=True, slots=True)
class LabeledText:
    """A text, and the number of its class."""

    example: Example
    label: int


@dataclass
class _Rows:
    """Texts with the names of their classes, and the ids of those left out, by reason."""

    texts: list[tuple[Example, str]] = field(default_factory=list)
    left_out: dict[str, list[str]] = field(default_factory=dict)

    def leave_out(self, key: str, reason: str) -> None:
        self.left_out.setdefault(reason, []).append(key)


def read_texts(datasets: Sequence[Dataset], column: str, labels: tuple[str, ...] = ()) -> Items:
    """All texts with a class; `labels` are the classes there may be, by default all that occur, sorted."""
    rows = _Rows()
    for dataset in datasets:
        _read(dataset, column, rows, labels)
    labels = labels or _classes(rows, column)
    numbers = {label: number for number, label in enumerate(labels)}
    texts = [LabeledText(example, numbers[label]) for example, label in rows.texts]
    if not texts:
        raise DataError(f"there is no text with a class in column {column!r}. Check the file and --label-column")
    lines = tuple(left_out_line("text", reason, ids) for reason, ids in rows.left_out.items())
    left_out = {reason: len(ids) for reason, ids in rows.left_out.items()}
    return Items(texts, {"texts": len(texts), "classes": list(labels), "left_out": left_out}, lines, labels)


def _read(dataset: Dataset, column: str, rows: _Rows, labels: tuple[str, ...]) -> None:
    for example in dataset:
        if column not in example.columns:
            others = ", ".join(example.columns) or "none"
            raise DataError(f"{dataset.name} has no column {column!r}. Its other columns: {others}. Use --label-column")
        label = class_name(example.columns[column], column, dataset.name)
        if label is None:
            rows.leave_out(example.id, UNLABELED)
        elif labels and label not in labels:
            rows.leave_out(example.id, UNSEEN)
        else:
            rows.texts.append((example, label))
    for item in dataset.skipped:
        rows.leave_out(item.id, item.reason)


def class_name(value: object, column: str, dataset: str) -> str | None:
    """The name of a class; None for an empty cell.

    >>> class_name("joy", "label", "x.csv"), class_name(2, "label", "x.csv"), class_name(2.0, "label", "x.csv")
    ('joy', '2', '2')
    """
    if value is None or value == "":
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, str | int | bool):
        kind = f"the number {value:g}" if isinstance(value, float) else type(value).__name__
        raise DataError(f"{dataset}, column {column!r}: {kind} is not a class. Choose another with --label-column")
    return str(value)


def _classes(rows: _Rows, column: str) -> tuple[str, ...]:
    """The classes that occur, numbers in their order."""
    names = {label for _, label in rows.texts}
    if len(names) < 2:
        what = f"only the class {names.pop()!r}" if names else "no class"
        raise DataError(f"column {column!r} has {what}: at least two are needed. Use --label-column")
    if len(names) > MOST:
        raise DataError(f"column {column!r} has {len(names):,} classes, at most {MOST:,} are taken. Use --label-column")
    return tuple(sorted(names, key=lambda name: (0, int(name), name) if _whole(name) else (1, 0, name)))


def _whole(name: str) -> bool:
    return name.removeprefix("-").isdecimal() and name.isascii()


def text_features(model: TaskNetwork, text: LabeledText, size: int) -> list[Feature]:
    """The text, cut off at `size` tokens, and its class."""
    windows = encode(model, text.example, max_tokens=size)
    types = model.types
    return [
        Feature(part.source.ids, part.source.segment if types else None, {"labels": text.label}) for part in windows
    ]
