"""An atlas with every kind of comparison, for tests of the page: with seeds, a series, models of different shape."""

from __future__ import annotations

from pathlib import Path

import pytest

import headatlas as ha
from support.shared import shared_atlas

STEPS = ["0", "100", "1000", "5000"]  # labels of the series
AMOUNTS = (0.02, 0.3, 1)  # how far the queries of one head are turned, at each step


@pytest.fixture(scope="session")
def compared(tmp_path_factory: pytest.TempPathFactory) -> ha.Atlas:
    """A small network, every stage, with the comparisons `tuned`, `series` and `shape`."""
    return shared_atlas(tmp_path_factory, "compared", make_compared)


def make_compared(home: Path) -> None:
    """Write `compared.atlas` into a folder, and the atlases that it is compared with."""
    from support.comparisons import CHANGED, collected, network  # which imports these fixtures

    first = collected(home / "compared.atlas", network(), resolution=16)
    ha.features.image(first, "pooled")
    ha.cluster.kmeans(first, k=4)
    ha.correlate.clusters(first, permutations=9)
    tuned, *seeds = (
        collected(home / f"{name}.atlas", network(seed=seed, change=CHANGED), resolution=16)
        for seed, name in enumerate(("tuned", "seed1", "seed2"), 1)
    )
    steps = [
        collected(home / f"step{number}.atlas", turned(amount), resolution=16)
        for number, amount in enumerate(AMOUNTS, 1)
    ]
    other = collected(home / "other.atlas", network(num_hidden_layers=3, num_attention_heads=2), resolution=16)
    ha.compare.models(first, tuned, noise=seeds, name="tuned", examples=6)
    ha.compare.models(first, *steps, steps=STEPS, name="series", examples=4)
    ha.compare.models(first, other, name="shape", examples=3)


def turned(amount: float) -> object:
    """A network in which the queries of one head move towards its keys: its tokens attend to themselves."""
    import torch

    from support.comparisons import CHANGED, network, rows

    bert, (layer, head) = network(), CHANGED
    attention = bert.encoder.layer[layer].attention.self
    with torch.no_grad():
        query, key = (part.weight[rows(head)] for part in (attention.query, attention.key))
        query += amount * (6 * key - query)
    return bert
