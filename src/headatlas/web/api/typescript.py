"""TypeScript that the build writes from declarations in Python: `python -m headatlas.web.api.typescript FOLDER`.

So the page has no copy of them that could differ. Needs nothing but the declarations.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from headatlas.statistics import MASS, SINKS, SPECIAL, STATISTICS, Naming, Statistic, special
from headatlas.wording.thresholds import WORDS

STATISTICS_TYPES = """\
export interface Naming {
  phrase: string; // names clusters
  target: string; // a head attends to …
  manner: string; // a head attends …
}
export interface Statistic {
  name: string;
  label: string;
  unit: string;
  group: string; // a name has one phrase of each
  about: "position" | "tokens" | "shape"; // where attention goes, what it goes to, how it is spread
  parts: string[]; // stored statistics whose sum measures it
  high: Naming | null; // for high values
  low: Naming | null; // for low ones
}
"""


def statistics_ts() -> str:
    """All declared statistics, the template of those of special tokens, and the special tokens that differ from it."""
    declared = [entry for entry in STATISTICS if entry is not SPECIAL]
    declared += [special(token) for token in SINKS]
    lines = [f"  {_json(_statistic(entry))}," for entry in declared]
    return "\n".join(
        [
            "// Written by the build from src/headatlas/statistics.py.",
            STATISTICS_TYPES,
            f"export const MASS = {_json(MASS)};",
            "/** Statistics of a special token, with {token} in its place. */",
            f"export const SPECIAL: Statistic & {{ high: Naming }} = {_json(_statistic(SPECIAL))};",
            "export const STATISTICS: Statistic[] = [",
            *lines,
            "];",
            "",
        ]
    )


def thresholds_ts() -> str:
    """The values from which on the page uses a word."""
    lines = [f"export const {name} = {_json(value)};" for name, value in WORDS.items()]
    return "\n".join(["// Written by the build from src/headatlas/wording/thresholds.py.", *lines, ""])


def _statistic(entry: Statistic) -> dict[str, Any]:
    fields = {name: getattr(entry, name) for name in ("name", "label", "unit", "group", "about", "parts")}
    return fields | {"high": _naming(entry.high), "low": _naming(entry.low)}


def _naming(naming: Naming | None) -> dict[str, str] | None:
    if naming is None:
        return None
    return {name: value for name, value in asdict(naming).items() if name != "bound"}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


FILES = {"statistics.ts": statistics_ts, "thresholds.ts": thresholds_ts}


def main(folder: str) -> None:
    """Write all files; one that is the same is left alone, so that nothing is rebuilt in vain."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, text in FILES.items():
        file = Path(folder) / name
        content = text()
        if not file.is_file() or file.read_text(encoding="utf-8") != content:
            file.write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
