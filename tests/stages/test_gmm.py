"""Gaussian mixtures: scikit-learn's labels for every map, planted and stretched clusters, the same bits anywhere."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score as ari
from sklearn.mixture import GaussianMixture

import headatlas as ha
from headatlas import cluster
from headatlas.atlas.blocks import row_ranges
from headatlas.atlas.schema import MISSING
from headatlas.errors import DataError, OptionError, StoreError
from headatlas.stages.cluster import assign, auto, fit_file, stage, vectors
from headatlas.stages.cluster.methods.gmm import GMM, REGULAR, RESTARTS, MixtureFit
from headatlas.stages.cluster.methods.kmeans import KMeans
from support.atlases import folders, stopping
from support.planted import drawn, planted

PATTERNS = drawn(np.random.default_rng(6).dirichlet([0.2] * 5, (3, 4)), 120, seed=2)
COVARIANCES = ["diag", "full", "tied", "spherical"]


def make(path, **options):
    return planted(path, PATTERNS, **{"noise": 1.2, "missing": [(2, 1)]} | options)


@pytest.fixture(scope="module")
def atlas(tmp_path_factory):
    return make(tmp_path_factory.mktemp("gmm") / "x.atlas")


def stretched(rng, n):
    """Three long clusters side by side, and which point belongs to which."""
    kinds = rng.integers(3, size=n)
    points = rng.normal(size=(n, 4)) * [3, 0.3, 0.3, 0.3] + np.eye(3, 4, 1)[kinds] * 2.5
    return points.astype(np.float32), kinds


def model_of(x, k, covariance, seed):
    """The same mixture, fitted with scikit-learn only."""
    options = {"covariance_type": covariance, "n_init": RESTARTS, "random_state": seed}
    return GaussianMixture(k, reg_covar=REGULAR * float(x.astype(np.float64).var(0).mean()), **options).fit(x)


def renumbered(labels, old):
    """The new number of each old label; the mapping must be one to one."""
    pairs = {(before, after) for before, after in zip(old.tolist(), labels.tolist(), strict=True)}
    assert len(pairs) == len(set(old.tolist())) == len(set(labels.tolist()))
    return dict(pairs)


# --- on arrays


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_labels_match_scikit_learn(covariance):
    rng = np.random.default_rng(1)
    x, _ = stretched(rng, 900)
    new = (x + rng.normal(size=x.shape) * 2).astype(np.float32)
    fit, labels = GMM(4, covariance).fit(x, seed=3)
    model = model_of(x.astype(np.float64), 4, covariance, 3)
    number = renumbered(labels, model.predict(x.astype(np.float64)))
    assert (fit.assign(x) == labels).all() and (np.diff(np.bincount(labels)) <= 0).all()
    assert [number[old] for old in model.predict(new.astype(np.float64)).tolist()] == fit.assign(new).tolist()
    old = {after: before for before, after in number.items()}
    means = np.stack([model.means_[old[cluster]] for cluster in fit.assign(new).tolist()])
    np.testing.assert_allclose(fit.label(new)[1], np.linalg.norm(new - means, axis=1), rtol=1e-5)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_a_fit_is_restored_from_its_file(covariance):
    x, _ = stretched(np.random.default_rng(2), 400)
    fit, labels = GMM(3, covariance).fit(x, seed=0)
    space = vectors.fit_space(x)
    loaded_space, loaded, extra = fit_file.from_bytes(fit_file.to_bytes("gmm", space, fit, index=np.arange(3)))
    assert isinstance(loaded, MixtureFit) and loaded.covariance == covariance and list(extra) == ["index"]
    assert (loaded.assign(x) == labels).all() and (loaded_space.axes == space.axes).all()


def test_batches_change_no_label(monkeypatch):
    x, _ = stretched(np.random.default_rng(2), 500)
    fit, labels = GMM(3, "full").fit(x, seed=0)
    monkeypatch.setattr("headatlas.stages.cluster.methods.gmm.ROOM", 4 * 4 * 7)  # seven rows at a time
    assert (fit.assign(x) == labels).all()


def test_stretched_clusters_are_found_where_kmeans_cuts_them():
    x, kinds = stretched(np.random.default_rng(0), 1500)
    assert ari(kinds, GMM(3, "diag").fit(x, seed=0)[1]) > 0.99
    assert ari(kinds, GMM(3, "full").fit(x, seed=0)[1]) > 0.99
    assert ari(kinds, KMeans(3).fit(x, seed=0)[1]) < 0.2


def test_auto_takes_the_most_stable_number_and_a_bootstrap_sample_counts_copies(monkeypatch):
    monkeypatch.setattr(auto, "GRID", (5, 6, 7, 8))
    rng = np.random.default_rng(4)
    x = (np.eye(6).repeat(50, 0) * 8 + rng.normal(size=(300, 6))).astype(np.float32)
    settled, stable, tried = GMM().settle(x, x, seed=0, bar=False)
    assert settled.k == 6 and stable.mean > 0.95 and dict(tried)[6.0] == stable.mean
    weights = rng.integers(1, 4, size=300)
    copies = x.repeat(weights, 0)
    expected = model_of(copies.astype(np.float64), 6, "diag", 9).predict(x.astype(np.float64))
    assert (settled.regroup(x, weights, 9) == expected).all()


# --- on an atlas


def test_planted_patterns_are_found_and_described(tmp_path, monkeypatch):
    monkeypatch.setattr(auto, "GRID", (5, 6, 8, 10))
    atlas = make(tmp_path / "x.atlas", noise=0.3)
    labels = cluster.gmm(atlas)
    exists = labels != MISSING
    assert (~exists).sum() == 120 and ari(PATTERNS[exists], labels[exists]) == 1
    facts = atlas.facts("cluster", "gmm")
    assert len(facts["clusters"]) == 5 and facts["stability"] == 1
    tried = atlas.table("choices", "gmm").to_pydict()
    assert tried["value"][tried["chosen"].index(True)] == 5
    rows = {row["measure"]: row["value"] for row in atlas.table("quality", "gmm").to_pylist()}
    assert rows["silhouette"] > 0.9 and rows["noise"] == 0


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_every_map_has_the_label_that_scikit_learn_predicts(atlas, covariance):
    labels = cluster.gmm(atlas, k=6, covariance=covariance, sample=240, seed=2, name=covariance)
    sample = stage.take_sample(atlas, "planted", "maps", 240, 2)
    model = model_of(sample.x.astype(np.float64), 6, covariance, 2)
    number = renumbered(labels[tuple(sample.index.T)], model.predict(sample.x.astype(np.float64)))
    distance = atlas.read("distance", of=covariance)
    for examples in row_ranges(atlas, "features", "planted"):
        exists, x = assign.project(atlas, "planted", sample.space, examples)
        block, old = labels[examples.start : examples.stop][exists], model.predict(x.astype(np.float64))
        assert [number[label] for label in old.tolist()] == block.tolist()
        expected = np.linalg.norm(x - model.means_[old], axis=1)
        np.testing.assert_allclose(distance[examples.start : examples.stop][exists], expected, rtol=1e-4)
    assert np.isnan(distance[labels == MISSING]).all() and atlas.facts("cluster", covariance)["fitted"] == 231


def bits(atlas, name):
    files = [path for folder in folders(atlas, "cluster", name) for path in sorted(folder.rglob("*")) if path.is_file()]
    return [path.read_bytes() for path in files]


def test_processes_and_another_run_give_the_same_bits(atlas, tmp_path):
    cluster.gmm(atlas, k=4, sample=240)
    other = make(tmp_path / "x.atlas")
    cluster.gmm(other, k=4, sample=240, workers=2)
    assert bits(other, "gmm") == bits(atlas, "gmm")


def test_the_size_of_blocks_changes_no_label(tmp_path):
    labels = [cluster.gmm(make(tmp_path / f"{block}.atlas", block=block), k=5, sample=240) for block in (8, 64)]
    assert (labels[0] == labels[1]).all()


def test_a_stopped_run_continues_with_the_same_bits(atlas, tmp_path, monkeypatch):
    cluster.gmm(atlas, k=4, sample=240)
    other = make(tmp_path / "x.atlas")
    with stopping(monkeypatch, StoreError("no space left"), at=4), pytest.raises(StoreError, match="no space"):
        cluster.gmm(other, k=4, sample=240)
    other = ha.open(Path(other.files.url))
    assert other.results("cluster") == {}
    cluster.gmm(other, k=4, sample=240)
    assert bits(other, "gmm") == bits(atlas, "gmm")


def test_heads_and_all_maps_at_once(atlas):
    labels = cluster.gmm(atlas, k=3, level="heads")
    assert (labels == labels[:1]).all() and atlas.latest("cluster") == "gmm-heads"
    cluster.gmm(atlas, k=5, sample=0, name="all")
    assert atlas.facts("cluster", "all")["fitted"] == 120 * 11


def test_a_sweep_tries_each_number(atlas):
    rows = cluster.sweep(atlas, methods=["gmm"], ks=[3, 5]).to_pydict()
    assert rows["method"] == ["gmm"] * 2 and rows["parameter"] == ["k"] * 2 and rows["clusters"] == [3, 5]


def test_duplicate_maps_work_and_components_without_maps_are_reported(tmp_path, capfd):
    atlas = make(tmp_path / "x.atlas", noise=0.0)
    labels = cluster.gmm(atlas, k=9)
    exists = labels != MISSING
    assert labels.max() == 4 and ari(PATTERNS[exists], labels[exists]) == 1
    assert "only 5 of 9 components have maps" in capfd.readouterr().err


def test_a_component_that_collapses_is_one_clear_line(monkeypatch):
    monkeypatch.setattr("headatlas.stages.cluster.methods.gmm.REGULAR", 0.0)
    x = np.eye(3, dtype=np.float32).repeat(5, 0)
    with pytest.raises(DataError, match=r"^k 3: some of the full components have too few different maps\. Choose"):
        GMM(3, "full").fit(x, seed=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 1}, "k 1: give a whole number of at least 2, or auto"),
        ({"k": 5000}, "k 5000: there are only 1,320 maps"),
        ({"covariance": "round"}, "covariance 'round': choose diag, full, tied or spherical"),
        ({"backend": "cuml"}, "backend 'cuml': choose sklearn"),
    ],
)
def test_invalid_options_are_refused(atlas, options, message):
    with pytest.raises(OptionError, match=message):
        cluster.gmm(atlas, **options)
