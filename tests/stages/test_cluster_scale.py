"""Clusters of many maps: fitted on a sample, then labeled block by block, with the same bits everywhere."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from sklearn import cluster as sk
from sklearn.metrics import adjusted_rand_score as ari

import headatlas as ha
from headatlas import cluster
from headatlas.atlas.blocks import block_size, row_ranges
from headatlas.errors import StoreError
from headatlas.stages.cluster import assign, stage
from headatlas.stages.cluster.assign import FIT, Job, lloyd, project
from headatlas.stages.cluster.methods.kmeans import RESTARTS
from support.atlases import folders, place, stopping, writer
from support.planted import drawn, plant_features, planted

PATTERNS = drawn(np.random.default_rng(6).dirichlet([0.2] * 5, (3, 4)), 120, seed=2)
SAMPLED = {"sample": 240}


def make(path, patterns=PATTERNS, **options):
    return planted(path, patterns, **{"noise": 1.2, "missing": [(2, 1)]} | options)


@pytest.fixture(scope="module")
def atlas(tmp_path_factory):
    return make(tmp_path_factory.mktemp("scale") / "x.atlas")


def bits(atlas, name):
    root = Path(atlas.files.url)
    return {
        str(path.relative_to(root)): path.read_bytes()
        for part in (f"cluster.zarr/{name}", f"cluster/{name}", f"manifests/cluster/{name}")
        for path in (root / part).rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """Forty texts with a real model; square roots of pooled maps on their principal axes."""
    path = tmp_path_factory.mktemp("real") / "x.atlas"
    atlas = ha.collect.maps("packaged", ha.data.load("sample", limit=40), path, resolution=16, max_tokens=64)
    flat = np.sqrt(atlas.read("pooled").astype(np.float64)).reshape(-1, 256)
    flat -= flat.mean(0)
    axes = np.linalg.eigh(flat.T @ flat)[1][:, ::-1][:, :48]
    array = atlas.array("pooled")
    sizes = {"example": 40, "layer": 6, "head": 12, "feature": 48}
    plant_features(atlas, "root", (flat @ axes).reshape(*sizes.values()), block_size(array))
    return atlas


@pytest.mark.parametrize("method", [cluster.kmeans, cluster.dbscan, cluster.hdbscan])
def test_a_sample_and_the_rest_agree_with_a_full_fit_on_planted_maps(tmp_path, method):
    atlas = make(tmp_path / "x.atlas", noise=0.3)
    options = {"k": 5} if method is cluster.kmeans else {}
    full = method(atlas, name="whole", **options)
    part = method(atlas, name="part", sample=600, **options)
    assert atlas.facts("cluster", "part")["fitted"] == 594
    exists = full != -2
    assert ari(full[exists], part[exists]) >= 0.95


def test_a_sample_and_the_rest_agree_with_a_full_fit_on_a_real_model(real):
    full, part = cluster.kmeans(real, k=4, name="whole"), cluster.kmeans(real, k=4, name="part", sample=1440)
    assert ari(full.ravel(), part.ravel()) >= 0.95
    sample = stage.take_sample(real, "root", "maps", 0, 0)
    reference = sk.KMeans(4, n_init=RESTARTS, random_state=0).fit(sample.x)
    assert ari(reference.labels_, full[tuple(sample.index.T)]) == 1


def job_of(atlas, name):
    where = place(atlas, "cluster", name)
    return Job(where, "planted", str(atlas.files.digest(f"{where.folders[2]}/{FIT}")))


def test_lloyd_over_blocks_matches_scikit_learn(atlas):
    cluster.kmeans(atlas, k=5, name="start", **SAMPLED)
    job = job_of(atlas, "start")
    space, fit, _ = job.load()
    x = np.concatenate([project(atlas, "planted", space, part)[1] for part in row_ranges(atlas, "features", "planted")])
    start = fit.centers + 0.5
    centers = lloyd(atlas, job, start, 0, None, tolerance=0)
    reference = sk.KMeans(5, init=start.astype(np.float64), n_init=1, tol=0, max_iter=100).fit(x.astype(np.float64))
    np.testing.assert_allclose(centers, reference.cluster_centers_, atol=1e-6)
    labels = ((x[:, None].astype(np.float64) - centers) ** 2).sum(-1).argmin(1)
    assert (labels == reference.labels_).all()
    assert np.abs(centers - start).max() > 0.1


def test_all_maps_move_the_centers_when_the_sample_is_zero(atlas, monkeypatch):
    monkeypatch.setattr(stage, "START", 240)
    labels = cluster.kmeans(atlas, k=5, sample=0, name="everything")
    assert atlas.facts("cluster", "everything")["fitted"] == 120 * 11
    space, fit = job_of(atlas, "everything").load()[:2]
    x = np.concatenate([project(atlas, "planted", space, part)[1] for part in row_ranges(atlas, "features", "planted")])
    map_labels = labels[labels >= 0]
    for number, center in enumerate(fit.centers):
        np.testing.assert_allclose(center, x[map_labels == number].mean(0), atol=0.05)


@pytest.fixture(scope="module")
def in_threads(tmp_path_factory):
    """KMeans over all maps in threads of this process."""
    return over_all(make(tmp_path_factory.mktemp("here") / "x.atlas"))


def over_all(atlas, **where):
    """Start from the centers of a small sample, so that they move; then label every block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stage, "START", 60)
        patch.setattr(assign, "PASSES", 3)
        cluster.kmeans(atlas, k=4, sample=0, **where)
    return bits(atlas, "kmeans")


def test_two_processes_give_the_same_bits(in_threads, tmp_path):
    assert over_all(make(tmp_path / "x.atlas"), workers=2) == in_threads


def test_a_dask_cluster_gives_the_same_bits(in_threads, tmp_path):
    import distributed

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as workers:
        assert over_all(make(tmp_path / "x.atlas"), scheduler=workers.scheduler_address) == in_threads


@pytest.mark.parametrize("method", [cluster.kmeans, cluster.dbscan, cluster.hdbscan])
def test_the_size_of_blocks_changes_no_label(tmp_path, method):
    options = SAMPLED | ({"k": 5} if method is cluster.kmeans else {})
    labels = [method(make(tmp_path / f"{block}.atlas", block=block), **options) for block in (8, 64)]
    assert (labels[0] == labels[1]).all()


@pytest.mark.parametrize("method", [cluster.kmeans, cluster.dbscan, cluster.hdbscan])
def test_the_order_of_examples_changes_no_label(tmp_path, method):
    options = {"k": 5} if method is cluster.kmeans else {}
    first, other = make(tmp_path / "1.atlas", noise=0.3), make(tmp_path / "2.atlas", noise=0.3)
    order = np.random.default_rng(0).permutation(120)
    writer(other, "features", "planted").write_blocks("features", 0, first.read("features", of="planted")[order])
    labels, permuted = method(first, **options), method(other, **options)
    assert (labels[order] == permuted).all()


def test_lost_blocks_are_recomputed_with_the_same_bits(tmp_path, capfd):
    atlas = make(tmp_path / "x.atlas")
    cluster.hdbscan(atlas, **SAMPLED)
    expected = bits(atlas, "hdbscan")
    root = tmp_path / "x.atlas"
    manifests, arrays, _ = folders(atlas, "cluster", "hdbscan")
    (arrays / "labels/c/2/0/0").unlink()
    (manifests / "block-000004.json").unlink()
    intact = arrays / "labels/c/1/0/0"
    before = intact.stat().st_mtime_ns
    capfd.readouterr()
    cluster.hdbscan(ha.open(root), **SAMPLED)
    assert "labels/c/2/0/0 is missing: recomputed" in capfd.readouterr().err
    assert bits(atlas, "hdbscan") == expected and intact.stat().st_mtime_ns == before


def test_a_stopped_run_continues(tmp_path, monkeypatch):
    atlas = make(tmp_path / "x.atlas")
    cluster.kmeans(atlas, k=5)
    expected = bits(atlas, "kmeans")
    shutil.rmtree(tmp_path / "x.atlas")
    atlas = make(tmp_path / "x.atlas")
    with stopping(monkeypatch, StoreError("no space left"), at=4), pytest.raises(StoreError, match="no space"):
        cluster.kmeans(atlas, k=5)
    atlas = ha.open(tmp_path / "x.atlas")
    assert atlas.results("cluster") == {}
    cluster.kmeans(atlas, k=5)
    assert bits(atlas, "kmeans") == expected
