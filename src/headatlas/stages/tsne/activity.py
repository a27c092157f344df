"""Which heads are worth looking at: maximum attention, activity, and chains of strong attention.

Maximum attention of token j is max over queries i of A_ij: the largest attention the token gets from any token.
Stacked over the heads of a layer it is the picture (head, token) that shows interesting heads.

Activity of a head is the mean over its keys, special tokens left out, of the largest attention from *another* token.

A chain: from token i one step leads to the token j ≠ i with the largest A_ij (the first of equals), if A_ij is at least
`strength`. Steps are followed until there is none, or it leads to a token that is in the chain already. Length counts
steps. Special tokens may end a chain but do not begin or continue one. A head's chain length is the longest of all its
chains; ties go to the larger mean over all tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.errors import OptionError
from headatlas.numeric.threads import single_thread
from headatlas.stages.tsne.reading import Reading, Source, Text, read

STRENGTH = 0.3

Flags = NDArray[np.bool_]


@dataclass(frozen=True, repr=False)
class Activity:
    """Maximum attention by layer, and one row per head: activity, longest chain and mean chain."""

    model: str
    keys: dict[int, list[str]]
    maximum: dict[int, NDArray[np.float32]]  # (head, key)
    rows: list[dict[str, Any]]

    def ranked(self, by: str = "activity") -> list[dict[str, Any]]:
        """The rows, the highest first, by `activity` or by `chain`."""
        orders = {"activity": ("activity",), "chain": ("chain", "chain_mean")}
        if by not in orders:
            raise OptionError(f"ranked by {by!r}: choose activity or chain")
        return sorted(self.rows, key=lambda row: tuple(-row[name] for name in orders[by]))

    def __repr__(self) -> str:
        keys = max(map(len, self.keys.values()), default=0)
        first = ", ".join(f"L{row['layer']}·H{row['head']} {row['activity']:.2f}" for row in self.ranked()[:3])
        return f"<Activity of {self.model}: {len(self.rows)} heads × {keys} keys; most active {first}>"


@single_thread()
def activity(source: Source, text: Text, *, strength: float = STRENGTH) -> Activity:
    """Find the heads that are worth looking at: maximum attention, activity and chains of every head on a text.

    >>> from headatlas import tsne
    >>> active = tsne.activity("packaged", "The cat sat on the mat, and the dog lay on the floor.")
    >>> active.maximum[0].shape
    (12, 17)

    One forward pass gives all of it, so nothing is stored in an atlas.

    Parameters
    ----------
    source, text
        As `tsne.heads` takes them.
    strength
        Least attention that makes a step of a chain.

    Returns
    -------
    Activity
        Maximum attention (head, key) by layer, and one row per head.
    """
    if not 0 < strength <= 1:
        raise OptionError(f"strength {strength:g}: choose a share of attention above 0, at most 1")
    reading = read(source, text)
    maximum, keys, rows = {}, {}, []
    for layer in reading.model.layers:
        maximum[layer.index] = np.stack([maximum_attention(head) for head in reading.maps[layer.index]])
        keys[layer.index] = reading.side(layer.kind, False).text
        rows += _rows(reading, layer.index, strength)
    return Activity(reading.model.name, keys, maximum, rows)


def _rows(reading: Reading, number: int, strength: float) -> list[dict[str, Any]]:
    layer = reading.model.layers[number]
    cross, special = layer.kind == "cross", reading.side(layer.kind, False).special
    rows = []
    for head, attention in enumerate(reading.maps[number]):
        row = {"layer": number, "head": head, "kind": layer.kind, "activity": head_activity(attention, special, cross)}
        lengths = np.zeros(1) if cross else chains(attention, special, strength)
        rows.append(row | {"chain": int(lengths.max()), "chain_mean": float(lengths.mean())})
    return rows


def maximum_attention(attention: NDArray[Any]) -> NDArray[np.float32]:
    """The largest attention each key gets from any query.

    >>> maximum_attention(np.array([[0.9, 0.1], [0.4, 0.6]]))
    array([0.9, 0.6], dtype=float32)

    Parameters
    ----------
    attention
        A map (query, key).

    Returns
    -------
    array
        One number per key.
    """
    maximum: NDArray[np.float32] = np.asarray(attention, np.float32).max(0)
    return maximum


def head_activity(attention: NDArray[Any], special: Flags, cross: bool = False) -> float:
    """Mean over keys that are not special of the largest attention from another token; 0 if there is none."""
    others = np.array(attention, np.float64)
    if not cross:
        np.fill_diagonal(others, 0)
    plain = others[:, ~special] if (~special).any() else others
    return float(plain.max(0).mean())


def chains(attention: NDArray[Any], special: Flags, strength: float = STRENGTH) -> NDArray[np.int64]:
    """The length of the chain that begins at each token.

    >>> previous = np.eye(4, k=-1)
    >>> chains(previous, np.zeros(4, bool))
    array([0, 1, 2, 3])

    Parameters
    ----------
    attention
        A map (query, key).
    special
        Which tokens are special.
    strength
        Least attention that makes a step.

    Returns
    -------
    array
        The number of steps from each token; 0 from special tokens.
    """
    others = np.array(attention, np.float64)
    np.fill_diagonal(others, -1)
    towards = others.argmax(1)
    steps = (others.max(1) >= strength) & ~special
    lengths = np.zeros(len(others), np.int64)
    for start in range(len(others)):
        visited, token = {start}, start
        while steps[token] and int(towards[token]) not in visited:
            token = int(towards[token])
            visited.add(token)
        lengths[start] = len(visited) - 1
    return lengths
