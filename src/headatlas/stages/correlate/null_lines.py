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
            [row for row in atlas.table(name, of).to_pylist() if row["kind"] != REAL]
            for name in ("null_shares", "null_heads", "null_locality")
        )
        return cls(shares, heads, locality)

    def shares_of(self, cluster: int) -> str:
        """The share of a cluster under each null model; empty if it is not known."""
        rows = [row for row in self.shares if row["cluster"] == cluster]
        if not rows:
            return ""
        here = f"{wording.percent(rows[0]['share_real'])} on the same examples"
        return f"{wording.null_shares({row['kind']: row['share'] for row in rows})}; {here}"

    def extended(self, entries: Sequence[Entry]) -> list[Entry]:
        """Entries about all clusters together, with what holds under each null model."""
        additions = {"jobs": self._jobs()} if self.heads else {}
        additions |= {row["neighbors"]: self._similar(row["neighbors"]) for row in self.locality}
        return [(label, f"{text}; {additions[label]}" if label in additions else text) for label, text in entries]

    def _jobs(self) -> str:
        kinds = dict.fromkeys(row["kind"] for row in self.heads)
        heads = sum(row["kind"] == next(iter(kinds)) for row in self.heads)
        one_job = {kind: sum(row["one_job"] for row in self.heads if row["kind"] == kind) for kind in kinds}
        return wording.null_jobs(heads, one_job)

    def _similar(self, neighbors: str) -> str:
        rows = [row for row in self.locality if row["neighbors"] == neighbors]
        return wording.null_locality({row["kind"]: (row["similarity"], row["all_pairs"]) for row in rows})
