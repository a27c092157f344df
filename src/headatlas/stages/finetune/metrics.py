"""metrics.jsonl: one row per logged step or evaluation."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

DIGITS = 6  # significant digits of a number


class Metrics:
    """Rows of numbers in a file, in the order of steps."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "metrics.jsonl"

    def write(self, kind: str, step: int, values: Mapping[str, Any]) -> None:
        """Append a row."""
        row = {"kind": kind, "step": step, **{name: _rounded(value) for name, value in values.items()}}
        with self.path.open("a") as stream:
            stream.write(json.dumps(row) + "\n")

    def rows(self, kind: str | None = None) -> list[dict[str, Any]]:
        """All rows, or those of a kind; a line that was cut off when a process was killed is left out."""
        if not self.path.exists():
            return []
        rows = [row for line in self.path.read_text().splitlines() if (row := _parsed(line)) is not None]
        return [row for row in rows if kind in (None, row["kind"])]

    def cut(self, step: int) -> None:
        """Forget what comes after a step, since training continues from there."""
        rows = [row for row in self.rows() if row["step"] <= step]
        written = self.path.with_suffix(".unfinished")
        written.write_text("".join(json.dumps(row) + "\n" for row in rows))
        written.replace(self.path)


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) and {"kind", "step"} <= set(row) else None


def _rounded(value: Any) -> Any:
    """Six digits; JSON has no NaN and no infinity."""
    if not isinstance(value, float):
        return value
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
