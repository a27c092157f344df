"""Which tokens are drawn: whole examples whose queries and keys are stored, all of them or a random part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas.store import Atlas
from headatlas.errors import DataError, StoreError

Ints = NDArray[np.int64]

STORED = 20_000  # tokens that `collect` stores by default


@dataclass(frozen=True)
class Points:
    """The tokens that are drawn, in the order of `tokens`: each is a point as a query, and one as a key."""

    examples: Ints  # those drawn, rising
    token: Ints  # row of each token in the table `tokens`
    row: Ints  # its row in the arrays `query` and `key`

    def __len__(self) -> int:
        return len(self.token)


def choose_points(atlas: Atlas, tokens: int, seed: int) -> Points:
    """Whole examples in random order, as many as fit into `tokens`, at least one; all if there are no more."""
    _require_vectors(atlas)
    sampled = atlas.table("sampled")
    example, row, count = (sampled[name].to_numpy().astype(np.int64) for name in ("example", "offset", "tokens"))
    order = np.random.default_rng(seed).permutation(len(example))
    fits = max(1, int(np.searchsorted(np.cumsum(count[order]), tokens, side="right")))
    chosen = np.sort(order[:fits])
    example, row, count = example[chosen], row[chosen], count[chosen]
    starts = atlas.table("examples", columns=["offset"])["offset"].to_numpy()[example]
    within = np.concatenate([np.arange(n) for n in count])
    points = Points(example, np.repeat(starts, count) + within, np.repeat(row, count) + within)
    if len(points) < 2:
        raise DataError(f"a plot needs the queries and keys of at least 2 tokens, and there is 1. {_again(atlas)}")
    return points


def _require_vectors(atlas: Atlas) -> None:
    """Say what to do if no queries and keys are stored."""
    atlas.needed("collect")
    if atlas.has_array("query"):
        return
    if atlas.options.get("qk_tokens", STORED) > 0:
        family = atlas.header["model"]["family"]
        raise StoreError(f"the queries and keys of {family} cannot be read, so {atlas.files.url} has none to draw")
    raise StoreError(f"{atlas.files.url} has no queries and keys. {_again(atlas)}")


def _again(atlas: Atlas) -> str:
    command = f"headatlas collect MODEL {atlas.header['data']['name']} -o NEW.atlas --qk-tokens {STORED}"
    return f"Collect more of them: {command}"
