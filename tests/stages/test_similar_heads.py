"""Which heads are alike in their vectors: the distance against a slow computation, its properties, and ranks."""

import numpy as np
import pytest
from scipy.linalg import sqrtm

from headatlas import collect, correlate, features
from headatlas.stages.correlate.heads import all_pairs, distance_scale, head_distances, related
from headatlas.stages.correlate.vectors import Vectors
from support.planted import clustered


def vectors_of(values, known=None):
    """Vectors (slot, row, feature), all known unless said otherwise."""
    rows = np.arange(values.shape[1])
    return Vectors(rows, rows, values, np.full(values.shape[:2], True) if known is None else known)


def test_the_distance_is_that_of_normal_distributions_along_the_axes():
    """Uncorrelated features are the principal axes, so the general formula for Gaussians applies."""
    rng = np.random.default_rng(0)
    quarters = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T  # uncorrelated, exactly
    heads = np.stack([quarters * rng.random(3) + [rng.normal(0, 9), 0, 0] for _ in range(5)])
    distances = head_distances(vectors_of(heads), 0)
    for a in range(5):
        for b in range(5):
            means = heads[a].mean(0) - heads[b].mean(0)
            one, other = (np.cov(heads[head].T, bias=True) for head in (a, b))
            root = sqrtm(one)
            square = means @ means + np.trace(one + other - 2 * sqrtm(root @ other @ root).real)
            assert distances[a, b] == pytest.approx(np.sqrt(max(0, square)), abs=1e-4)


def test_it_is_symmetric_and_zero_for_equal_heads_and_knows_the_spread():
    values = np.random.default_rng(1).normal(size=(6, 40, 8)).astype(np.float16)
    values[1] = values[0]
    values[2] = values[0].mean(0) + 3 * (values[0] - values[0].mean(0))  # the same mean, a wider spread
    distances = head_distances(vectors_of(values), 0)
    assert np.allclose(distances, distances.T) and distances[0, 1] == 0 and (np.diag(distances) == 0).all()
    assert distances[0, 2] > 1
    order = np.random.default_rng(2).permutation(40)
    assert np.allclose(head_distances(vectors_of(values[:, order]), 0), distances, atol=1e-4)  # no order of texts


def test_heads_without_maps_are_like_no_other():
    values = np.random.default_rng(1).normal(size=(4, 9, 3))
    known = np.full((4, 9), True)
    known[2] = False
    distances = head_distances(vectors_of(values, known), 0)
    assert np.isnan(distances[2]).all() and len(all_pairs(distances)) == 3
    pairs = related(distances, 2)
    assert {(slot, other) for slot, _, other, _, _ in pairs} == {(a, b) for a in (0, 1, 3) for b in (0, 1, 3) if a != b}
    assert related(np.empty((0, 0))) == [] and distance_scale(np.zeros((1, 1))) is None


def test_ranks_and_shares_of_pairs():
    place = np.array([0.0, 1.0, 3.0, 7.0])
    distances = np.abs(place[:, None] - place)
    assert distance_scale(distances) == {"typical": 3.5, "largest": 7.0}
    rows = [(other, distance, share) for slot, _, other, distance, share in related(distances) if slot == 0]
    assert rows == [(1, 1.0, pytest.approx(5 / 6)), (2, 3.0, pytest.approx(3 / 6)), (3, 7.0, 0.0)]


def test_a_previous_token_head_of_a_real_model_is_near_others(tmp_path):
    """L0·H2 of MiniLM attends to the previous token; so do the heads nearest to it, more than nearly all others."""
    texts = [f"The {animal} sat on the {place}, and then it went away." for animal in ("cat", "dog", "old horse")
             for place in ("mat", "wooden chair", "hill")]  # fmt: skip
    atlas = collect.maps("packaged", texts, tmp_path / "x.atlas")
    features.image(atlas, "pooled")
    clustered(atlas, np.zeros((9, 6, 12), int))
    correlate.clusters(atlas, permutations=1)
    names = atlas.array("stats").attrs["stats"]
    previous = atlas.read("stats")[..., names.index("previous")].mean(0)
    assert previous[0, 2] > 0.8
    rows = [row for row in atlas.table("related").to_pylist() if (row["layer"], row["head"]) == (0, 2)]
    mean_of_related = np.mean([previous[row["other_layer"], row["other_head"]] for row in rows])
    assert mean_of_related > np.quantile(previous, 0.9)
    assert [row["distance"] for row in rows] == sorted(row["distance"] for row in rows) and rows[0]["closer_than"] > 0
