"""Clusterings of bootstrap samples: how similar they are equals a slow loop, the typical one is no outlier, which k."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from headatlas.stages.cluster import typical
from headatlas.stages.cluster.minis import MiniClusters, Points, draws, mini_clusters


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def test_similarity_equals_a_slow_loop(rng):
    labels, others, sizes = rng.integers(3, size=(2, 20)), rng.integers(4, size=(3, 20)), rng.random(20)
    labels[1][labels[1] == 2] = 0  # one cluster less
    found = typical.similar(labels, others, sizes)
    for i, j, cluster in np.ndindex(2, 3, 4):
        members = labels[i] == cluster
        expected = max(
            sizes[members & (others[j] == c)].sum() / sizes[members | (others[j] == c)].sum() for c in range(4)
        )
        assert found[i, cluster, j] == pytest.approx(expected if members.any() else np.nan, nan_ok=True)


def test_lloyd_equals_scikit_learn(rng):
    means, sizes = rng.normal(size=(200, 3)), rng.integers(1, 9, size=200).astype(float)
    start = means[:6]
    expected = KMeans(6, init=start, n_init=1, tol=0).fit(means, sample_weight=sizes).cluster_centers_
    np.testing.assert_allclose(typical.lloyd(means, sizes, start), expected)


def test_a_center_without_points_stays():
    far = np.array([[0.0], [100.0]])
    assert typical.lloyd(np.array([[1.0], [3.0]]), np.ones(2), far).tolist() == [[2.0], [100.0]]


def test_weighted_means_of_mini_clusters(rng):
    x, minis = rng.normal(size=(50, 2)).astype(np.float32), np.arange(50, dtype=np.int32) % 4
    weights = rng.integers(3, size=50) * (minis != 3)
    points = MiniClusters(np.zeros((4, 2), np.float32), minis).weighted(x, weights)
    for mini in range(3):
        own = minis == mini
        np.testing.assert_allclose(points.means[mini], np.average(x[own], axis=0, weights=weights[own]), rtol=1e-6)
    assert points.sizes.tolist() == np.bincount(minis, weights).tolist() and points.means[3].tolist() == [0, 0]


def test_the_typical_clustering_is_not_the_odd_one(rng):
    places = np.repeat([0.0, 3.0, 20.0, 40.0], 30)[:, None] + rng.uniform(-1, 1, size=(120, 1))
    whole = Points(places, np.ones(120))
    right, odd = np.array([[1.5], [20.0], [40.0]]), np.array([[0.0], [3.0], [30.0]])
    level = typical._typical(whole, [odd, right, right, right])
    assert level.sizes.tolist() == [60, 30, 30] and np.abs(level.centers - right).max() < 1
    assert level.stability.tolist() == [(3 + 0.5) / 4, (3 + 0.5) / 4, (3 + 0.5) / 4]


def test_stability_falls_where_a_blob_is_cut(rng):
    x = (np.repeat(np.eye(4) * 9, 300, axis=0) + rng.normal(size=(1200, 4))).astype(np.float32)
    minis = mini_clusters(x, np.ones(1200, np.int64), 0)
    samples = [minis.weighted(x, weights) for weights in draws(1200, None, 0)]
    levels = typical.levels(minis.weighted(x, np.ones(1200)), samples, [4, 5], bar=False)
    assert levels[4].stability.min() == 1
    assert sorted(levels[5].stability > 0.8) == [False, False, True, True, True]


@pytest.mark.parametrize(
    ("stability", "chosen"),
    [
        (dict.fromkeys(range(2, 41), 0.7), 14),  # nothing stands out
        (dict.fromkeys(range(2, 41), 0.7) | {2: 0.95, 4: 0.95}, 14),  # few clusters are always stable
        (dict.fromkeys(range(2, 41), 0.6) | {2: 0.98}, 14),
        (dict.fromkeys(range(2, 41), 0.5) | {4: 0.96}, 4),
        (dict.fromkeys(range(2, 41), 0.7) | {16: 0.78}, 16),
        (dict.fromkeys(range(2, 31), 1.0) | dict.fromkeys(range(31, 41), 0.9), 30),
    ],
)
def test_which_number_of_clusters(stability, chosen):
    assert typical.choose(stability) == chosen
