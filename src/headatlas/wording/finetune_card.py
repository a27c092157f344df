"""The card of a trained model: README.md, as the Hugging Face hub reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headatlas.wording.numbers import amount, capitalize, count, duration, many

ROWS = 12  # of the table of evaluations
HIDDEN = {"kind", "seconds", "evaluation_seconds"}  # columns of metrics.jsonl that the table leaves out


@dataclass(frozen=True)
class Card:
    """What a card tells."""

    name: str
    base: str
    hub: bool  # whether the base is a model of the hub
    pipeline: str
    task: str  # what the network learns, in a few words
    unit: str
    data: Sequence[str]
    lines: Sequence[str]  # on what was read and left out
    options: Mapping[str, Any]
    new: Sequence[str]  # parts that started with random weights
    machine: str
    versions: Mapping[str, str]
    rows: Sequence[Mapping[str, Any]] = field(default=())  # of metrics.jsonl
    evaluation: str | None = None
    made: int = 0  # unanswerable questions that were made


def card_text(card: Card) -> str:
    """The card as Markdown."""
    sections = (
        _header(card),
        f"# {card.name}\n\n{card.base}, trained to {card.task}. Load it with transformers, or with headatlas:\n"
        f"`headatlas run {card.name} DATA -o my.atlas`.",
        "## Data\n\n" + "\n".join(f"- {line}" for line in _data(card)),
        "## Recipe\n\n" + _table(("option", "value"), [(name, _value(value)) for name, value in card.options.items()]),
        "## Metrics\n\n" + _metrics(card),
        "## What was not done\n\n" + "\n".join(f"- {line}" for line in not_done(card)),
    )
    return "\n\n".join(sections) + "\n"


def _header(card: Card) -> str:
    base = [f"base_model: {card.base}"] if card.hub else []
    return "\n".join(
        ["---", *base, "library_name: transformers", f"pipeline_tag: {card.pipeline}", "tags: [headatlas]", "---"]
    )


def _data(card: Card) -> list[str]:
    lines = [f"trained on {name}" for name in card.data]
    lines += [f"evaluated with {card.evaluation}"] if card.evaluation else []
    return [capitalize(line) for line in (*lines, *card.lines)]


def _metrics(card: Card) -> str:
    training = [row for row in card.rows if row["kind"] == "training"]
    if not training:
        return "None were written."
    last = training[-1]
    versions = ", ".join(f"{name} {version}" for name, version in card.versions.items())
    text = (
        f"{many(last['step'], 'step')} on {many(last['examples'], card.unit)} in {duration(last['seconds'])} "
        f"on {card.machine}. "
        f"Training loss {amount(training[0]['loss'])} at first, {amount(last['loss'])} at the end; "
        f"every row is in metrics.jsonl. {versions}."
    )
    evaluations = [row for row in card.rows if row["kind"] == "evaluation"]
    return f"{text}\n\n{_evaluations(evaluations)}" if evaluations else text


def _evaluations(rows: Sequence[Mapping[str, Any]]) -> str:
    """A table of evaluations: all of them, or evenly spaced ones with the last."""
    spacing = -(-len(rows) // ROWS)
    shown = rows[::-1][::spacing][::-1]
    names = [name for name in rows[-1] if name not in HIDDEN]
    return _table(names, [[_value(row.get(name)) for name in names] for row in shown])


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _value(value: Any) -> str:
    """A value of a recipe or of metrics.

    >>> _value(1e-4), _value(1200), _value(None), _value(True), _value("auto")
    ('0.0001', '1,200', '–', 'True', 'auto')
    """
    if isinstance(value, bool) or not isinstance(value, int | float | None):
        return str(value).replace("|", "\\\\|")
    if value is None:
        return "–"
    return count(value) if isinstance(value, int) else f"{value:.4g}"


def not_done(card: Card) -> list[str]:
    """What a reader may assume, but was not done."""
    lines = ["Options were not searched for the best, and one seed was used: another gives other numbers."]
    if card.evaluation:
        lines.append(
            f"Evaluations in training use a random part of the {card.unit}s. They do not choose the weights: "
            "those are the last ones."
        )
    else:
        lines.append("It was not evaluated on data that it was not trained on.")
    if card.options.get("minutes"):
        lines.append(
            "The clock ended training, so that a faster machine, or the same at another hour, gives other weights."
        )
    if card.made:
        lines.append(
            f"{many(card.made, 'unanswerable question')} were made by changing a detail of a question, or by "
            "asking it of another passage of its article. They are easier than those that people write to mislead, "
            "and some of those with a changed detail can still be answered."
        )
    if card.new:
        lines.append(f"Weights that were not in the files started at random: {', '.join(card.new)}.")
    return lines
