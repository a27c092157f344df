"""What a storm reports: how often each outcome occurred, as a table or as JSON."""

import json
import os
from collections import Counter

REFUSED, REPAIRED, WITHOUT = "refused in one line", "repaired", "without effect"
WRONG, LOST, TRACEBACK = "silently wrong", "lost", "traceback"
FINE, BAD = (REFUSED, REPAIRED, WITHOUT), (WRONG, LOST, TRACEBACK)

STDERR = os.dup(2)  # of the whole storm: children have their own


class Report:
    """Counts of outcomes, and descriptions of those that must not happen."""

    def __init__(self):
        self.counts, self.failures, self.lines = Counter(), [], Counter()

    def add(self, outcome, where="", what=""):
        """Count one case; a bad one is described."""
        self.counts[outcome] += 1
        if outcome in BAD:
            self.failures.append(f"{outcome}: {where}: {what}")
            os.write(STDERR, f"{self.failures[-1]}\n\n".encode(errors="replace"))  # at once: a storm is long

    def merge(self, other):
        """Add what another process counted."""
        self.counts += Counter(other["counts"])
        self.lines += Counter(other["lines"])
        self.failures += other["failures"]

    def plain(self):
        """As JSON values."""
        return {"counts": dict(self.counts), "lines": dict(self.lines), "failures": self.failures}

    def row(self):
        """One row of the table."""
        return {"tried": self.counts.total()} | {name: self.counts[name] for name in (*FINE, *BAD)}


def table(rows):
    """Rows by the name of their storm, as a table in Markdown."""
    names = ["tried", *FINE, *BAD]
    lines = [f"| storm | {' | '.join(names)} |", f"| --- |{' ---: |' * len(names)}"]
    lines += [f"| {storm} | {' | '.join(f'{row[name]:,}' for name in names)} |" for storm, row in rows.items()]
    return "\n".join(lines)


def as_json(reports, seconds):
    """All reports as JSON."""
    storms = {
        name: report.row() | {"seconds": round(seconds[name]), "failures": report.failures, "lines": report.lines}
        for name, report in reports.items()
    }
    return json.dumps(storms, indent=1, ensure_ascii=False)
