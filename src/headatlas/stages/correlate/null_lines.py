"""What the summary says about null models, from the tables that the stage `null` wrote, if it was run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from headatlas import wording
from headatlas.atlas.store import Atlas
from headatlas.wording.nulls import REAL

Row = dict[str, Any]
Entry = tuple[str, str]  # a label and a text


@dataclass(frozen=True)
class NullTables:
    """The tables of a clustering; empty if there are none."""

    shares: list[Row] = field(default_factory=list)
    heads: list[Row] = field(default_factory=list)
    locality: list[Row] = field(default_factory=list)

    @classmethod
    def read(cls, atlas: Atlas, of: str) -> NullTables:
        """Read them."""
        if of not in atlas.results("null"):
            return cls()
        shares, heads, locality = (
            atlas.table(name, of).to_pylist() for name in ("null_shares", "null_heads", "null_locality")
        )
        return cls(shares, heads, [row for row in locality if row["kind"] != REAL])

    def of_cluster(self, cluster: int, mostly: float) -> str:
        """The share of a cluster under each null model, and its heads; empty if they are not known."""
        rows = [row for row in self.shares if row["cluster"] == cluster]
        if not rows:
            return ""
        here = f"{wording.percent(rows[0]['share_real'])} on the same examples"
        text = f"{wording.null_shares({row['kind']: row['share'] for row in rows})}; {here}"
        heads = self._main_pattern(cluster, mostly)
        return f"{text}; {wording.null_heads(heads.pop(REAL), heads)}" if heads else text

    def _main_pattern(self, cluster: int, mostly: float) -> dict[str, int]:
        """Of how many heads a cluster is the main pattern, for each kind of maps; empty for earlier versions."""
        counts: dict[str, int] = {}
        for row in self.heads:
            share = next((part["share"] for part in row.get("shares", []) if part["cluster"] == cluster), None)
            if share is not None:
                counts[row["kind"]] = counts.get(row["kind"], 0) + (share >= mostly)
        return counts

    def extended(self, entries: Sequence[Entry]) -> list[Entry]:
        """Entries about all clusters together, with what holds under each null model."""
        additions = {"jobs": self._jobs()} if self.heads else {}
        additions |= {row["neighbors"]: self._similar(row["neighbors"]) for row in self.locality}
        return [(label, f"{text}; {additions[label]}" if label in additions else text) for label, text in entries]

    def _jobs(self) -> str:
        kinds = dict.fromkeys(row["kind"] for row in self.heads)
        one_job = {kind: sum(row["one_job"] for row in self.heads if row["kind"] == kind) for kind in kinds}
        one_job.pop(REAL)
        return wording.null_jobs(len(self.heads) // len(kinds), one_job)

    def _similar(self, neighbors: str) -> str:
        rows = [row for row in self.locality if row["neighbors"] == neighbors]
        return wording.null_locality({row["kind"]: (row["similarity"], row["all_pairs"]) for row in rows})
