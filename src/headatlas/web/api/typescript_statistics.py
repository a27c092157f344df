"""The generated `statistics.ts`: all declared statistics."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from headatlas.optional_statistics import SPAN
from headatlas.phrases import Naming
from headatlas.statistics import MASS, SINKS, SPECIAL, STATISTICS, Statistic, special

STATISTICS_TYPES = """\
export interface Naming {
  phrase: string; // names clusters
  target: string; // a head attends to …
  manner: string; // a head attends …
  says: string; // a clause about the maps of a cluster
}
export interface Statistic {
  name: string;
  label: string;
  short: string; // the label where it is known to be about attention
  unit: string;
  group: string; // a name has one phrase of each
  // where attention goes, what it goes to, how it is spread; from span to span; what it moves
  about: "position" | "tokens" | "shape" | "spans" | "norms";
  parts: string[]; // stored statistics whose sum measures it
  high: Naming | null; // for high values
  low: Naming | null; // for low ones
}
"""


def statistics_ts() -> str:
    """All declared statistics, the templates of others, and the special tokens that differ from theirs."""
    declared = [entry for entry in STATISTICS if entry not in (SPECIAL, SPAN)]
    declared += [special(token) for token in SINKS]
    lines = [f"  {_json(_statistic(entry))}," for entry in declared]
    return "\n".join(
        [
            "// Generated from src/headatlas/statistics.py. Do not edit.",
            STATISTICS_TYPES,
            f"export const MASS = {_json(MASS)};",
            "/** Statistics of a special token, with {token} in its place. */",
            f"export const SPECIAL: Statistic & {{ high: Naming }} = {_json(_statistic(SPECIAL))};",
            "/** Statistics of two kinds of spans, with {query} and {key} in their places. */",
            f"export const SPAN: Statistic = {_json(_statistic(SPAN))};",
            "export const STATISTICS: Statistic[] = [",
            *lines,
            "];",
            "",
        ]
    )


def _statistic(entry: Statistic) -> dict[str, Any]:
    fields = {name: getattr(entry, name) for name in ("name", "label", "short", "unit", "group", "about", "parts")}
    return fields | {"high": _naming(entry.high), "low": _naming(entry.low)}


def _naming(naming: Naming | None) -> dict[str, str] | None:
    if naming is None:
        return None
    return {name: value for name, value in asdict(naming).items() if name not in ("bound", "comparative")}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
