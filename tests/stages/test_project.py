"""Projections: trust against scikit-learn, sampling, reproducibility, and what is stored in the atlas."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.manifold import trustworthiness

from headatlas import project
from headatlas.atlas.store import Atlas
from headatlas.errors import DataError, OptionError, StoreError
from headatlas.stages.project import trust_of_placed, trust_per_point
from headatlas.stages.project.methods.tsne import Tsne
from headatlas.stages.project.reduction import fit_space
from headatlas.stages.project.sample import sample_maps
from support.atlases import place, unfinish
from support.planted import drawn, planted


def preference(layers=2, heads=3):
    chosen = np.full((layers, heads, 5), 0.02)
    for layer in range(layers):
        for head in range(heads):
            chosen[layer, head, (layer * heads + head) % 5] = 1
    return chosen


@pytest.fixture
def atlas(folder):
    return planted(folder / "a.atlas", drawn(preference(), 40), missing=[(1, 2)])


def points(count, width, seed=0):
    return np.random.default_rng(seed).normal(size=(count, width))


def slow_trust(high, low, k):
    """Trust by its definition, one point at a time."""
    n, trust = len(high), []
    for i in range(n):
        high_distance, low_distance = np.linalg.norm(high - high[i], axis=1), np.linalg.norm(low - low[i], axis=1)
        order = [j for j in np.argsort(high_distance) if j != i]
        rank = {j: position + 1 for position, j in enumerate(order)}
        neighbors = [j for j in np.argsort(low_distance) if j != i][:k]
        trust.append(1 - 2 / (k * (2 * n - 3 * k - 1)) * sum(max(0, rank[j] - k) for j in neighbors))
    return np.array(trust)


@pytest.mark.parametrize("k", [1, 5, 15])
def test_trust_matches_scikit_learn_and_the_definition(k, monkeypatch):
    monkeypatch.setattr("headatlas.numeric.trust.CHUNK", 1000)  # several chunks
    high, low = points(90, 6), points(90, 2, seed=1)
    low[:50] = high[:50, :2]
    trust = trust_per_point(high, low, k)
    assert trust.mean() == pytest.approx(trustworthiness(high, low, n_neighbors=k), abs=1e-6)
    assert trust == pytest.approx(slow_trust(high, low, k), abs=1e-5)
    assert trust[:50].mean() > trust[50:].mean()


def test_trust_of_a_placed_point_equals_that_in_a_sample_that_includes_it():
    high, low = points(60, 5), points(60, 2, seed=1)
    new_high, new_low = points(4, 5, 9), points(4, 2, 8)
    placed = trust_of_placed(new_high, new_low, high, low, 15)
    for n in range(4):
        inside = trust_per_point(np.vstack([high, new_high[[n]]]), np.vstack([low, new_low[[n]]]), 15)[-1]
        assert placed[n] == pytest.approx(inside, abs=1e-6)


def test_the_sample_has_equally_many_maps_of_each_head_and_depends_only_on_the_seed(atlas):
    heads = np.array([[True, True, True], [True, True, False]])
    numbers, features = sample_maps(atlas, "planted", 52, seed=3)
    counts = np.bincount(numbers % 6, minlength=6)
    assert counts[5] == 0 and set(counts[:5]) == {10, 11} and counts.sum() == 52
    assert (features == atlas.read("features").reshape(240, -1)[numbers]).all()
    repeated, other = (sample_maps(atlas, "planted", 52, seed=seed)[0] for seed in (3, 4))
    assert (numbers == repeated).all() and (np.diff(numbers) > 0).all() and not (numbers == other).all()
    everything = sample_maps(atlas, "planted", 10**9, seed=0)[0]
    assert (everything == np.flatnonzero(np.tile(heads.ravel(), 40))).all()


def test_components_match_scikit_learn():
    values = points(80, 60) * np.arange(1, 61)
    space, pca = fit_space(values), PCA(50, svd_solver="full").fit(values)
    assert np.abs(space.apply(values)) == pytest.approx(np.abs(pca.transform(values)), abs=1e-3)
    assert space.shares == pytest.approx(pca.explained_variance_ratio_)
    wide = fit_space(points(12, 300))  # more features than maps
    assert wide.axes.shape == (300, 12)


def test_pca_places_every_map_and_rates_it(atlas):
    positions = project.pca(atlas)
    assert positions.shape == (40, 2, 3, 2) and positions.dtype == np.float32
    trust = atlas.read("trust", of="pca")
    missing = np.zeros((2, 3), bool)
    missing[1, 2] = True
    assert (np.isnan(positions).any(-1) == missing).all() and (np.isnan(trust) == missing).all()
    features = atlas.read("features").astype(np.float64)[:, ~missing].reshape(-1, 6)
    pca = PCA(2).fit(features)
    assert np.abs(positions[:, ~missing].reshape(-1, 2)) == pytest.approx(np.abs(pca.transform(features)), abs=1e-2)
    facts = atlas.facts("project", "pca")
    assert facts["variance"] == pytest.approx(pca.explained_variance_ratio_, abs=1e-3)
    low = positions[:, ~missing].reshape(-1, 2)
    assert facts["trustworthiness"] == pytest.approx(trustworthiness(features, low, n_neighbors=15), abs=1e-3)
    assert facts["continuity"] == pytest.approx(trustworthiness(low, features, n_neighbors=15), abs=1e-3)
    assert facts["sample"] == 200 and "trustworthiness" in str(atlas)


def test_maps_outside_the_sample_are_placed_and_blocks_do_not_matter(folder):
    patterns = drawn(preference(), 40)
    first = planted(folder / "one.atlas", patterns, block=16)
    second = planted(folder / "two.atlas", patterns, block=8)
    a, b = project.pca(first, sample=60), project.pca(second, sample=60)
    assert a == pytest.approx(b, abs=1e-4)
    assert first.read("trust") == pytest.approx(second.read("trust"), abs=1e-4)
    facts = first.facts("project", "pca")
    assert facts["sample"] == 60 and 0.5 < facts["placed_trustworthiness"] <= 1
    assert np.isfinite(a).all()


@pytest.fixture
def pieces(atlas, monkeypatch):
    """The outcome of several pieces of work in threads of this process."""
    monkeypatch.setattr("headatlas.stages.project.placing.TOGETHER", 1)
    return outcome(atlas, "here")


def outcome(atlas, name, **options):
    project.pca(atlas, sample=60, name=name, **options)
    facts = atlas.facts("project", name)
    return [atlas.read(array, of=name).tobytes() for array in ("position", "trust")], facts


def test_processes_change_nothing(atlas, pieces):
    assert outcome(atlas, "there", workers=2) == pieces


def test_a_dask_cluster_gives_the_same_bits(atlas, pieces):
    import distributed

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as workers:
        assert outcome(atlas, "there", scheduler=workers.scheduler_address) == pieces


def test_umap_separates_patterns_and_is_reproducible(atlas):
    first = project.umap(atlas, sample=120)
    again = project.umap(atlas, sample=120, name="again")
    other = project.umap(atlas, sample=120, name="other", seed=1)
    assert first.tobytes() == again.tobytes() and first.tobytes() != other.tobytes()
    trust, missing = atlas.read("trust", of="umap"), np.zeros(first.shape[:3], bool)
    missing[:, 1, 2] = True
    assert (np.isnan(first).any(-1) == missing).all() and (np.isnan(trust) == missing).all()
    assert (trust[~missing] >= 0).all() and (trust[~missing] <= 1).all()
    facts = atlas.facts("project", "umap")
    assert facts["sample"] == 120 and facts["trustworthiness"] > 0.85 and facts["placed_trustworthiness"] > 0.85
    high, low = atlas.read("features")[~missing].astype(float), first[~missing]  # the placed ones too, by scikit-learn
    assert trustworthiness(high, low, n_neighbors=15) > 0.85


def test_tsne_separates_patterns_and_is_reproducible(atlas):
    first = project.tsne(atlas, sample=120, perplexity=10)
    again = project.tsne(atlas, sample=120, perplexity=10, name="again")
    other = project.tsne(atlas, sample=120, perplexity=10, name="other", seed=1)
    assert (np.nan_to_num(first) == np.nan_to_num(again)).all()
    assert not (np.nan_to_num(first) == np.nan_to_num(other)).all()
    facts = atlas.facts("project", "tsne")
    assert facts["trustworthiness"] > 0.85 and facts["placed_trustworthiness"] > 0.85


def test_tsne_places_a_map_of_the_sample_where_it_is():
    vectors = (points(5, 8) * 8).repeat(30, 0).astype(np.float32) + points(150, 8, 1).astype(np.float32)
    method = Tsne(10, 0)
    fitted = method.fit(vectors)
    placed = method.place(vectors[::3])
    assert np.median(np.linalg.norm(placed - fitted[::3], axis=1)) < 0.1 * np.ptp(fitted)


def test_a_finished_projection_is_left_alone_and_a_half_written_one_is_recomputed(atlas):
    expected = project.pca(atlas)
    file = f"{place(atlas, 'project', 'pca').folders[1]}/position/c/0/0/0/0"
    before = atlas.files.digest(file)
    project.pca(Atlas.open(atlas.files.url))
    atlas.files.write(file, b"torn")
    repaired = project.pca(Atlas.open(atlas.files.url))
    assert (np.nan_to_num(repaired) == np.nan_to_num(expected)).all()
    assert atlas.files.digest(file) == before
    unfinish(atlas, "project", "pca")
    assert "pca" not in Atlas.open(atlas.files.url).results("project")
    assert (np.nan_to_num(project.pca(Atlas.open(atlas.files.url))) == np.nan_to_num(expected)).all()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda a: project.pca(a, of="nobody"), StoreError, "no features result called 'nobody'"),
        (lambda a: project.pca(a, sample=2), OptionError, "sample 2: give a whole number of at least 4"),
        (lambda a: project.umap(a, neighbors=1), OptionError, "neighbors 1: give a whole number of at least 2"),
        (lambda a: project.tsne(a, perplexity=90), OptionError, "perplexity 90: choose between 1 and a third of"),
        (lambda a: project.pca(a, name="../x"), OptionError, "--name"),
    ],
)
def test_mistakes_are_explained_in_one_line(atlas, call, error, words):
    with pytest.raises(error, match=words) as caught:
        call(atlas)
    assert "\n" not in str(caught.value)


def test_too_few_maps(folder):
    few = planted(folder / "few.atlas", np.zeros((1, 1, 2), int))
    with pytest.raises(DataError, match="at least 4 maps, and there are 2"):
        project.pca(few)
