"""Clusters: equal to those of scikit-learn, planted patterns are recovered, and invalid options give clear errors."""

import numpy as np
import pytest
from sklearn import cluster as sk
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score as ari
from sklearn.metrics import pairwise_distances, silhouette_score

from headatlas import cluster, wording
from headatlas.atlas.schema import MISSING
from headatlas.errors import DataError, OptionError, StoreError
from headatlas.numeric.sampling import thin
from headatlas.stages.cluster import auto, backends, fit, quality, vectors
from headatlas.stages.cluster.methods import METHODS, dbscan, hdbscan, kmeans
from support.atlases import writer
from support.planted import drawn, planted

PATTERNS = drawn(np.random.default_rng(5).dirichlet([0.15] * 5, (4, 6)), 60)


@pytest.fixture(scope="module")
def atlas(tmp_path_factory):
    return planted(tmp_path_factory.mktemp("cluster") / "x.atlas", PATTERNS, missing=[(1, 2)])


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def blobs(rng, n=600, centers=4, width=5, spread=0.4):
    middle = rng.normal(size=(centers, width)) * 3
    return (middle[rng.integers(centers, size=n)] + spread * rng.normal(size=(n, width))).astype(np.float32)


def change_features(atlas, values):
    """Replace the planted features with others of the same shape."""
    writer(atlas, "features", "planted").write_blocks("features", 0, values.astype(np.float16))


# vectors


def test_axes_match_scikit_learn(rng):
    x = rng.normal(size=(500, 20)) @ rng.normal(size=(20, 20))
    space, pca = vectors.fit_space(x), PCA(0.95).fit(x)
    assert space.axes.shape[1] == pca.n_components_
    signs = np.sign((space.axes * pca.components_.T).sum(0))
    np.testing.assert_allclose(space.apply(x), pca.transform(x) * signs, atol=1e-4)


def test_at_most_64_axes(rng):
    assert vectors.fit_space(rng.normal(size=(400, 100))).axes.shape == (100, 64)


def test_a_sample_has_equally_many_maps_of_each_head_and_grows_with_its_size(atlas):
    (small, values), (large, _) = (vectors.sample_maps(atlas, "planted", size, 1) for size in (230, 460))
    assert np.unique(small[:, 1:], axis=0, return_counts=True)[1].tolist() == [10] * 23
    assert {tuple(index) for index in small.tolist()} < {tuple(index) for index in large.tolist()}
    assert (values == atlas.read("features")[tuple(small.T)]).all()
    for size in (0, 60 * 23, 10**6):
        assert len(vectors.sample_maps(atlas, "planted", size, 1)[0]) == 60 * 23
    part = small[thin(small, 53, seed=1)]
    assert sorted(np.unique(part[:, 1:], axis=0, return_counts=True)[1].tolist()) == [2] * 16 + [3] * 7


# pure methods against scikit-learn


def test_kmeans_matches_scikit_learn(rng):
    x = blobs(rng, centers=7, spread=1.5)
    fitted, labels = kmeans.KMeans(7).fit(x, seed=4)
    reference = sk.KMeans(7, n_init=kmeans.RESTARTS, random_state=4, algorithm="lloyd").fit(x)
    assert ari(reference.labels_, labels) == 1
    assert (np.diff(np.bincount(labels)) <= 0).all()
    new = blobs(rng, 5000, spread=3)
    reference.cluster_centers_ = fitted.centers.copy()
    assert (fitted.label(new)[0] == reference.predict(new)).all()
    nearest = np.linalg.norm(new - fitted.centers[fitted.label(new)[0]], axis=1)
    np.testing.assert_allclose(fitted.label(new)[1], nearest, rtol=1e-5)


@pytest.mark.parametrize("eps", [0.9, 1.2, 1.6])
def test_dbscan_matches_scikit_learn_except_for_maps_between_two_clusters(rng, eps):
    x = blobs(rng, spread=0.6)
    _, labels = dbscan.DBSCAN(eps, 8).fit(x, seed=0)
    reference = sk.DBSCAN(eps=eps, min_samples=8).fit(x.astype(np.float64))
    cores = reference.core_sample_indices_
    assert ari(reference.labels_[cores], labels[cores]) == 1
    assert ((reference.labels_ == -1) == (labels == -1)).all()
    distances = pairwise_distances(x.astype(np.float64), x[cores].astype(np.float64))
    nearest = labels[cores][distances.argmin(1)]
    assert (labels == np.where(distances.min(1) <= eps, nearest, -1)).all()


def test_hdbscan_matches_scikit_learn_and_new_maps_join_by_mutual_reachability(rng):
    x = blobs(rng, spread=0.6)
    fitted, labels = hdbscan.HDBSCAN(12, 5).fit(x, seed=0)
    reference = sk.HDBSCAN(min_cluster_size=12, min_samples=5, copy=True).fit(x).labels_
    assert ari(reference, labels) == 1 and ((reference == -1) == (labels == -1)).all()
    new = x[:300] + rng.normal(size=(300, 5)).astype(np.float32) * 0.5
    core = np.sort(pairwise_distances(x), 1)[:, 4]
    slow = []
    for point in new:
        distances = np.linalg.norm(x - point, axis=1)
        point_core = np.sort(distances)[3]  # the point itself is the first of five
        members = np.flatnonzero(labels >= 0)
        nearest = members[distances[members].argmin()]
        reach = max(_loosest(x, labels, core, labels[nearest]), 0)
        slow.append(labels[nearest] if max(point_core, distances[nearest]) <= reach else -1)
    assert (fitted.label(new)[0] == slow).mean() > 0.99
    assert 0.05 < np.mean(np.array(slow) == -1) < 0.95


def _loosest(x, labels, core, cluster):
    members = np.flatnonzero(labels == cluster)
    reach = np.maximum(np.maximum(pairwise_distances(x[members]), core[members]), core[members][:, None])
    np.fill_diagonal(reach, np.inf)
    return reach.min(1).max()


def test_noise_of_any_backend_is_minus_one():
    assert backends.noise(np.array([0, -1, -7, 2147483647, 2], np.int32)).tolist() == [0, -1, -1, -1, 2]
    assert backends.noise(np.array([0, 4294967295, 1, 0, 0], np.uint32)).tolist() == [0, -1, 1, 0, 0]


def test_clusters_are_numbered_by_size_in_any_order_of_maps(rng):
    x = blobs(rng, 100)
    labels = rng.integers(-1, 6, size=100)
    order = rng.permutation(100)
    assert (fit.by_size(labels, x)[order] == fit.by_size(labels[order], x[order])).all()


# choosing


def test_stability_matches_a_slow_loop(rng):
    x = blobs(rng, 200, spread=1.5)
    method = kmeans.KMeans(5)
    (stability,) = auto.stability([method.regroup], x, seed=2, pairs=3, bar=False)
    draw_rng = np.random.default_rng([2, 77])
    draws = [draw_rng.integers(200, size=200) for _ in range(6)]
    groups = []
    for number, places in enumerate(draws):
        drawn_maps = sorted(set(places.tolist()))
        weights = np.array([(places == place).sum() for place in drawn_maps], float)
        reference = sk.KMeans(5, n_init=kmeans.TRIAL_RESTARTS, random_state=2 + number)
        reference.fit(x[drawn_maps], sample_weight=weights)
        groups.append(dict(zip(drawn_maps, reference.labels_.tolist(), strict=True)))
    for value, a, b in zip(stability.values, groups[::2], groups[1::2], strict=True):
        both = sorted(set(a) & set(b))
        assert value == pytest.approx(ari([a[place] for place in both], [b[place] for place in both]))
    labels = method.fit(x, 0)[1]
    jaccard = []
    for group in groups:
        members = {place for place in group if labels[place] == 0}
        others = [{place for place in group if group[place] == label} for label in range(5)]
        jaccard.append(max(len(members & other) / len(members | other) for other in others))
    assert stability.of_clusters(labels, 6)[0] == pytest.approx(np.mean(jaccard))
    assert stability.of_clusters(labels, 6)[5] == 0  # none of its maps was drawn


def test_the_knee_of_a_known_curve():
    flat, steep = np.linspace(1, 2, 90), np.linspace(2, 12, 11)[1:]
    assert auto.knee(np.random.default_rng(0).permutation(np.concatenate([flat, steep]))) == pytest.approx(2)
    assert auto.knee(np.ones(5)) == 1


def test_silhouette_and_its_interval(rng):
    x, labels = blobs(rng, 300), rng.integers(0, 3, 300).astype(np.int32)
    row = quality.shape(x, labels, np.arange(300))[0]
    assert row["value"] == pytest.approx(silhouette_score(x, labels), abs=1e-6)
    assert row["low"] < row["value"] < row["high"] < row["low"] + 0.1


def test_agreement_of_labels_that_equal_the_heads_and_of_random_labels(rng):
    index = np.argwhere(np.ones((20, 3, 4), bool))
    by_head = quality.agreement((index[:, 1] * 4 + index[:, 2]).astype(np.int32), index)
    chance = quality.agreement(rng.integers(0, 5, len(index)).astype(np.int32), index)
    assert by_head[0]["value"] == pytest.approx(1) and by_head[2]["value"] < 0  # spread more evenly than by chance
    assert all(abs(row["value"]) < 0.1 for row in chance)


# whole atlases


@pytest.mark.parametrize(
    ("method", "options", "least"),
    [
        (cluster.kmeans, {"k": 5}, 1),
        (cluster.kmeans, {"name": "chosen"}, 1),
        (cluster.dbscan, {}, 0.95),
        (cluster.hdbscan, {}, 0.99),
    ],
)
def test_planted_patterns_are_found(atlas, method, options, least):
    labels = method(atlas, **options)
    name = options.get("name", method.__name__)
    exists = labels != MISSING
    assert labels.dtype == np.int32 and labels.shape == PATTERNS.shape
    assert (~exists).sum() == 60 and not exists[:, 1, 2].any()
    assert ari(PATTERNS[exists], labels[exists]) >= least
    facts = atlas.facts("cluster", name)
    assert len(facts["clusters"]) == 5 and facts["level"] == "maps" and "line" not in facts
    assert facts["noise"] == pytest.approx((labels == -1).sum() / exists.sum())
    assert f"5 clusters, stability {wording.ratio(facts['stability'])}" in str(atlas)
    assert [row["maps"] for row in facts["clusters"]] == np.bincount(labels[labels >= 0]).tolist()
    assert all(row["stability"] > 0.9 for row in facts["clusters"])
    distance = atlas.read("distance", of=name)
    assert (np.isnan(distance) == (labels < 0)).all()
    rows = {row["measure"]: row for row in atlas.table("quality", name).to_pylist()}
    assert rows["clusters"]["value"] == 5 and rows["noise"]["value"] == pytest.approx(
        (labels == -1).sum() / exists.sum()
    )
    assert rows["silhouette"]["value"] > 0.9 and rows["stability"]["value"] > 0.95
    assert rows["agreement_head"]["value"] > rows["agreement_layer"]["value"] > rows["agreement_example"]["value"]


def test_what_auto_tried_is_kept(atlas):
    cluster.kmeans(atlas, name="chosen")
    tried = atlas.table("choices", "chosen").to_pydict()
    assert tried["value"] == list(auto.GRID) and sum(tried["chosen"]) == 1
    best = max(tried["stability"])
    assert tried["value"][tried["chosen"].index(True)] == next(
        k for k, stability in zip(tried["value"], tried["stability"], strict=True) if stability >= best - auto.TIE
    )


def test_heads_share_the_label_of_their_mean(tmp_path):
    kinds = np.arange(24).reshape(4, 6) % 4
    atlas = planted(tmp_path / "x.atlas", np.broadcast_to(kinds, (40, 4, 6)).copy(), missing=[(3, 5)])
    labels = cluster.kmeans(atlas, level="heads", k=4)
    assert atlas.latest("cluster") == "kmeans-heads"
    assert (labels == labels[:1]).all() and labels[0, 3, 5] == MISSING
    exists = labels[0] >= 0
    assert ari(kinds[exists], labels[0][exists]) == 1
    facts = atlas.facts("cluster", "kmeans-heads")
    assert facts["level"] == "heads" and sum(row["maps"] for row in facts["clusters"]) == 40 * 23
    assert cluster.dbscan(atlas, level="heads", min_samples=3).max() == 3
    assert len(atlas.table("choices", "dbscan-heads")) == 1


def test_repeating_a_call_does_nothing_and_other_options_replace_the_result(atlas, capfd):
    first = cluster.kmeans(atlas, k=5, name="twice")
    files = {path: path.stat().st_mtime_ns for path in _files(atlas)}
    assert (cluster.kmeans(atlas, k=5, name="twice") == first).all()
    assert files == {path: path.stat().st_mtime_ns for path in _files(atlas)}
    assert cluster.kmeans(atlas, k=3, name="twice").max() == 2
    assert "cluster twice: replaced, since options differ" in capfd.readouterr().err


def _files(atlas):
    from pathlib import Path

    return [path for path in Path(atlas.files.url).rglob("*") if path.is_file()]


def test_sweep_compares(atlas):
    table = cluster.sweep(atlas, ks=(3, 5, 8)).to_pydict()
    assert list(dict.fromkeys(table["method"])) == list(METHODS)
    assert table["method"][:8] == ["tree"] * 3 + ["dbscan"] * 4 + list(METHODS)[2:3]
    assert table["silhouette"].index(max(table["silhouette"][:3])) == 1
    assert table["clusters"][:3] == [3, 5, 8] and table["parameter"][0] == "k"
    assert atlas.table("sweep").to_pydict() == table
    with pytest.raises(OptionError, match=f"methods spectral: choose among {', '.join(METHODS)}"):
        cluster.sweep(atlas, methods=["spectral"])


# invalid options and data


@pytest.mark.parametrize(
    ("method", "options", "error", "words"),
    [
        (cluster.kmeans, {"k": 1}, OptionError, "k 1: give a whole number of at least 2, or auto"),
        (cluster.kmeans, {"k": 2000}, OptionError, "k 2000: there are only 1,380 maps"),
        (cluster.kmeans, {"k": 40, "level": "heads"}, OptionError, "k 40: there are only 23 maps"),
        (cluster.kmeans, {"level": "layers"}, OptionError, "level 'layers': choose maps or heads"),
        (cluster.kmeans, {"sample": -1}, OptionError, "sample -1: give at least one map for each of 23 heads"),
        (cluster.kmeans, {"sample": 5}, OptionError, "sample 5: give at least one"),
        (cluster.kmeans, {"backend": "spark"}, OptionError, "backend 'spark': choose sklearn or cuml"),
        (cluster.kmeans, {"backend": "cuml"}, OptionError, "cuML is not installed.*pip install cuml"),
        (cluster.kmeans, {"of": "none"}, StoreError, "no features result called 'none': it has planted"),
        (cluster.kmeans, {"name": "a b"}, OptionError, "--name 'a b'"),
        (cluster.dbscan, {"eps": 0.0}, OptionError, "eps 0.0: give a distance above 0, or auto"),
        (cluster.dbscan, {"eps": float("nan")}, OptionError, "eps nan"),
        (cluster.dbscan, {"min_samples": 0}, OptionError, "min_samples 0: give a whole number of at least 1"),
        (cluster.dbscan, {"min_samples": 5000}, OptionError, "min_samples 5000: there are only 1,380 maps"),
        (cluster.dbscan, {"eps": 1e-4, "name": "bad"}, DataError, r"eps 0.0001: all maps are noise.*with eps 0\.\d+"),
        (cluster.hdbscan, {"min_cluster_size": 1}, OptionError, "min_cluster_size 1: give a whole number of at least"),
        (cluster.hdbscan, {"min_cluster_size": 9999}, OptionError, "min_cluster_size 9999: choose between 1 and"),
        (cluster.hdbscan, {"min_cluster_size": 1300, "name": "bad"}, DataError, "1300: all maps are noise"),
    ],
)
def test_invalid_options_are_reported(atlas, method, options, error, words):
    with pytest.raises(error, match=words):
        method(atlas, **options)


def test_constant_and_missing_features_are_reported(tmp_path):
    atlas = planted(tmp_path / "x.atlas", PATTERNS[:20])
    change_features(atlas, np.ones((20, 4, 6, 6)))
    with pytest.raises(DataError, match="all maps have the same features: nothing to cluster"):
        cluster.kmeans(atlas)
    change_features(atlas, np.full((20, 4, 6, 6), np.nan))
    with pytest.raises(DataError, match="no map has features in planted"):
        cluster.kmeans(atlas)
    change_features(atlas, np.full((20, 4, 6, 6), np.inf))
    with pytest.raises(DataError, match="some features are infinite"):
        cluster.kmeans(atlas)


def test_a_single_cluster_is_allowed_and_reported(atlas, capfd):
    assert set(np.unique(cluster.dbscan(atlas, eps=100.0, name="one")).tolist()) == {MISSING, 0}
    assert "dbscan found a single cluster" in capfd.readouterr().err
    rows = {row["measure"]: row["value"] for row in atlas.table("quality", "one").to_pylist()}
    assert np.isnan(rows["silhouette"]) and np.isnan(rows["davies_bouldin"]) and np.isnan(rows["calinski_harabasz"])


def test_clusters_too_small_for_the_stability_sample_are_kept(atlas, monkeypatch):
    monkeypatch.setattr(dbscan.DBSCAN, "trial", 100)
    labels = cluster.dbscan(atlas, eps=0.1, min_samples=1, name="tiny")
    facts = atlas.facts("cluster", "tiny")["clusters"]
    assert [row["maps"] for row in facts] == np.bincount(labels[labels >= 0]).tolist()
    assert facts[-1]["maps"] == 1 and len(facts) > 100


def test_fewer_distinct_maps_than_k_is_reported(tmp_path, capfd):
    atlas = planted(tmp_path / "x.atlas", PATTERNS[:20], noise=0.0)
    assert cluster.kmeans(atlas, k=9).max() == len(np.unique(PATTERNS[:20])) - 1
    assert "only 5 of 9 clusters have maps" in capfd.readouterr().err
