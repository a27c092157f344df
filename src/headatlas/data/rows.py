"""Turn rows with named columns into examples: choose the columns of text, pair and id."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headatlas.data.chats import is_chat, plain_chat, read_messages
from headatlas.data.dataset import Example, Skipped
from headatlas.data.spans import FORM, SPANS, read_spans
from headatlas.errors import DataError, OptionError

__all__ = ["ROW_ID", "TEXT_NAMES", "Columns", "Picked", "named", "python_rows"]

ROWS = 1024  # converted to Python at a time
ROW_ID = "column `id`, or number of the row, from 0"
TEXT_NAMES = (
    "text",
    "sentence",
    "content",
    "context",
    "question",
    "document",
    "article",
    "passage",
    "review",
    "premise",
    "sentence1",
    "messages",
)


@dataclass(frozen=True, slots=True)
class Picked:
    """The columns that become text, pair and id; all others are kept as columns."""

    text: str
    pair: str | None = None
    id: str | None = None

    def examples(self, rows: Iterable[Mapping[str, object]], path: str) -> Iterator[Example | Skipped]:
        """One example per row, or the reason why it is skipped.

        >>> [example] = Picked("text").examples([{"text": "Hello", "label": 1}], "x.jsonl")
        >>> example.id, example.text, example.columns
        ('0', 'Hello', {'label': 1})
        """
        taken = {self.text, self.pair, self.id, SPANS}
        for number, row in enumerate(rows):
            key = row.get(self.id) if self.id else None
            name = str(number if key is None else key)
            absent = [column for column in (self.text, self.pair) if column and column not in row]
            if absent:
                yield Skipped(name, f"no column {absent[0]!r}")
                continue
            others = {column: value for column, value in row.items() if column not in taken}
            if is_chat(row[self.text]):
                yield self._chat(row, name, path, others)
                continue
            spans = read_spans(None if SPANS in (self.text, self.pair, self.id) else row.get(SPANS))
            if isinstance(spans, str):
                raise DataError(
                    f"{path}, example {name}: column {SPANS!r} must be a list of {FORM}; {spans}. Correct it, or "
                    "rename the column if it holds something else."
                )
            yield Example(
                name,
                text=_text(row[self.text], self.text, name, path),
                # "" rather than None: a row with an empty pair is faulty, not an example without a pair.
                pair=(_text(row[self.pair], self.pair, name, path) or "") if self.pair else None,
                columns=others,
                spans=spans,
            )

    def _chat(self, row: Mapping[str, Any], name: str, path: str, others: dict[str, object]) -> Example:
        """A row whose text is a list of messages."""
        messages = read_messages(row[self.text])
        where = f"{path}, example {name}, column {self.text!r}"
        if isinstance(messages, str):
            raise DataError(f'{where}: {messages}. A chat is a list of {{"role": …, "content": …}}, both texts.')
        for column in (self.pair, SPANS):
            if column and row.get(column) is not None:
                raise DataError(f"{where} is a chat, whose spans are its messages: leave out column {column!r}.")
        text, spans = plain_chat(messages)
        return Example(name, text=text, columns=others, spans=spans, messages=messages)


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns chosen by the user."""

    text: str | None = None
    pair: str | None = None

    def __post_init__(self) -> None:
        if self.text is not None and self.text == self.pair:
            raise OptionError(f"text_column and pair_column are both {self.text!r}. Choose two columns, or omit one.")

    def pick(self, names: Sequence[str], path: str, default: str | None = None) -> Picked:
        """Find them among the existing columns; by default the text is `default` or the first known name.

        >>> Columns(pair="context").pick(["ID", "question", "context"], "x.csv")
        Picked(text='question', pair='context', id='ID')
        """
        repeated = next((name for name in names if names.count(name) > 1), None)
        if repeated is not None:
            raise DataError(f"{path} has more than one column {repeated!r}. Give each column a unique name.")
        for column in (self.text, self.pair):
            if column is not None and column not in names:
                raise DataError(f"{path} has no column {column!r}. Its columns: {_listed(names)}. Choose one of them.")
        free = [name for name in names if name != self.pair]
        text = self.text or default or named(free, TEXT_NAMES)
        if text is None:
            example = free[0] if free else "text"
            raise DataError(
                f"{path} has no column that is known to be text. Its columns: {_listed(names)}. "
                f"Choose one with load(…, text_column={example!r}) or --text-column {example}."
            )
        return Picked(text, self.pair, named([name for name in free if name != text], ("id",)))


def named(names: Sequence[str], known: Sequence[str]) -> str | None:
    """The first known name among these names, ignoring case.

    >>> named(["ID", "Text"], TEXT_NAMES)
    'Text'
    """
    by_lower_case = {name.lower(): name for name in reversed(names)}
    return next((by_lower_case[name] for name in known if name in by_lower_case), None)


def python_rows(batches: Iterable[Any], path: str) -> Iterator[dict[str, object]]:
    """The rows of Arrow batches as Python objects, a part at a time: a whole batch would need much memory."""
    first = 0
    for batch in batches:
        batch.validate(full=True)  # a damaged offset would be followed to anywhere in memory
        for start in range(0, batch.num_rows, ROWS):
            part = batch.slice(start, ROWS)
            try:
                rows = part.to_pylist()
            except UnicodeDecodeError:
                raise  # readers say where
            except (ValueError, OverflowError) as error:
                raise _unreadable(part, path, first + start) from error
            yield from rows
        first += batch.num_rows


def _unreadable(part: Any, path: str, first: int) -> DataError:
    """The error for a value that no Python object can hold, such as a date after the year 9999."""
    for name, values in zip(part.schema.names, part.columns, strict=True):
        for number, value in enumerate(values):
            try:
                value.as_py()
            except (ValueError, OverflowError) as error:
                return DataError(f"{path}, row {first + number}, column {name!r}: {error}. Change this value.")
    return DataError(f"{path}, row {first} or one of the next {len(part):,}: a value cannot be read. Change it.")


def _text(value: object, column: str, row: str, path: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise DataError(
        f"{path}, example {row}: column {column!r} contains {type(value).__name__}, not text. Choose another column."
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
