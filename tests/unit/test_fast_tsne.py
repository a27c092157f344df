"""The fast t-SNE against scikit-learn, exact double loops and a process that loads what another has compiled."""

import hashlib
import math
import subprocess
import sys

import numpy as np
import pytest
from sklearn.manifold import trustworthiness
from sklearn.manifold._utils import _binary_search_perplexity
from sklearn.neighbors import NearestNeighbors

from headatlas.numeric.fast_tsne.affinities import joint_probabilities, weigh
from headatlas.numeric.fast_tsne.descent import Descent, Neighbors, settle
from headatlas.numeric.fast_tsne.divergence import divergence
from headatlas.numeric.fast_tsne.embed import embed
from headatlas.numeric.fast_tsne.mesh import WIDE, Mesh
from headatlas.numeric.fast_tsne.neighbors import nearest
from headatlas.numeric.fast_tsne.pairs import AllPairs
from headatlas.numeric.fast_tsne.perplexity import perplexity_for


def islands(n, features=16, seed=0):
    """Vectors in eight groups, far from 0, as those of queries and keys are."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(5, 3, (8, features))
    return (centers[rng.integers(8, size=n)] + rng.normal(size=(n, features))).astype(np.float32)


def exact_gradient(p, positions):
    """The gradient of the KL over all pairs in float64, and the sum that normalizes Q."""
    y = positions.astype(np.float64)
    steps = y[:, None] - y[None]
    near = 1 / (1 + (steps**2).sum(-1))
    np.fill_diagonal(near, 0)
    forces = (p - near / near.sum()) * near
    return 4 * (forces[..., None] * steps).sum(1), near.sum()


@pytest.mark.parametrize(("n", "k"), [(50, 7), (700, 90), (700, 699)])
def test_neighbors_are_those_of_scikit_learn(n, k):
    vectors = islands(n)
    chosen, squares = nearest(vectors, k)
    distances, expected = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(vectors.astype(float)).kneighbors()
    np.testing.assert_allclose(np.sqrt(squares), distances, rtol=1e-5)
    assert (chosen == expected).mean() > 0.999  # but for two at the same distance


def test_neighbors_are_the_same_in_any_number_of_blocks(monkeypatch):
    vectors = islands(300)
    expected = nearest(vectors, 20)
    monkeypatch.setattr("headatlas.numeric.fast_tsne.neighbors.HELD", 700)
    assert all(np.array_equal(a, b) for a, b in zip(nearest(vectors, 20), expected, strict=True))


@pytest.mark.parametrize("perplexity", [2.0, 30.0, 85.0])
def test_weights_have_the_perplexity_and_are_those_of_scikit_learn(perplexity):
    """… wherever scikit-learn finds it: near two equally close neighbors its search can miss a perplexity of 2."""
    _, squares = nearest(islands(400), 90)
    weights = weigh(squares, perplexity).astype(np.float64)
    np.testing.assert_allclose(np.exp(_entropy(weights)), perplexity, rtol=1e-4)
    theirs = _binary_search_perplexity(squares, perplexity, 0)
    close = np.abs(np.exp(_entropy(theirs)) / perplexity - 1) < 1e-4
    assert close.mean() > 0.99
    np.testing.assert_allclose(weights[close], theirs[close], atol=2e-4)


def _entropy(weights):
    return -(weights * np.log(np.maximum(weights, 1e-300))).sum(1)


def test_p_is_symmetric_and_sums_to_one():
    p = joint_probabilities(islands(300), 20.0)
    assert abs(p - p.T).max() == 0 and p.sum(dtype=np.float64) == pytest.approx(1, abs=1e-6)
    assert p.diagonal().max() == 0


@pytest.mark.parametrize(("dims", "repulsion"), [(2, Mesh(0.15)), (3, AllPairs())])
@pytest.mark.parametrize("spread", [1e-4, 0.3, 6.0])
def test_the_gradient_matches_a_double_loop(dims, repulsion, spread):
    vectors = islands(300)
    p = joint_probabilities(vectors, 20.0)
    positions = np.random.default_rng(1).normal(3, spread / dims, (300, dims)).astype(np.float32)
    place = np.ascontiguousarray(positions.T)
    force, slope = np.zeros_like(place), np.zeros_like(place)
    Neighbors(p).gradient(place, force, repulsion)
    expected, total = exact_gradient(p.toarray().astype(np.float64), positions)
    assert np.linalg.norm(force.T - expected) < 1e-3 * np.linalg.norm(expected)
    assert repulsion.potential(place, slope) == pytest.approx(total, rel=1e-4)


def test_the_repulsion_of_the_usual_mesh_in_a_layout():
    """openTSNE's has an error of 0.036 in the layout of a head of MiniLM."""
    positions, _ = embed(islands(800))
    place = np.ascontiguousarray(positions.T)
    slope = np.zeros_like(place)
    total = Mesh().potential(place, slope)
    expected, exact_total = exact_gradient(np.zeros((800, 800)), positions)
    assert np.linalg.norm(slope.T * 2 / exact_total - expected) < 0.02 * np.linalg.norm(expected)
    assert total == pytest.approx(exact_total, rel=0.002)


def test_two_meshes_give_what_a_single_one_gives():
    """In a wide plot the kernel is split."""
    positions = np.random.default_rng(0).uniform(-45, 45, (700, 2)).astype(np.float32)
    positions[:400] *= 0.2
    place = np.ascontiguousarray(positions.T)
    slope = np.zeros_like(place)
    total = Mesh(0.15).potential(place, slope)
    expected, exact_total = exact_gradient(np.zeros((700, 700)), positions)
    assert np.ptp(place) > WIDE
    assert np.linalg.norm(slope.T * 2 / exact_total - expected) < 2e-3 * np.linalg.norm(expected)
    assert total == pytest.approx(exact_total, rel=1e-3)


def test_a_rate_that_is_too_high_is_halved():
    """Points that fly apart are taken back; without looking at the KL they stay apart."""
    p = joint_probabilities(islands(400), 30.0)
    start = np.ascontiguousarray(np.random.default_rng(0).normal(0, 1, (2, 400)).astype(np.float32))
    kls = []
    for every in (50, 300):
        descent = Descent(p, start.copy(), Mesh())
        settle(descent, lambda d=descent: divergence(p, d.place.T), iterations=300, rate=2, momentum=0.95, every=every)
        kls.append(divergence(p, descent.place.T))
    assert kls[0] < 0.5 * kls[1]


@pytest.mark.parametrize("dims", [2, 3])
def test_kl_matches_a_plain_loop(dims):
    vectors = islands(300)
    positions, kl = embed(vectors, dims)
    p = joint_probabilities(vectors, 30.0).toarray().astype(np.float64)
    near = np.array([[1 / (1 + math.dist(a, b) ** 2) for b in positions.tolist()] for a in positions.tolist()])
    q = near / (near.sum() - len(near))
    pairs = [(i, j) for i in range(300) for j in range(300) if p[i, j] > 0]
    assert kl == pytest.approx(sum(p[i, j] * math.log(p[i, j] / q[i, j]) for i, j in pairs), abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("dims", [2, 3])
def test_layouts_are_at_least_as_good_as_those_of_open_tsne(dims):
    from openTSNE import TSNE

    vectors = islands(500)
    positions, kl = embed(vectors, dims)
    theirs = TSNE(n_components=dims, n_jobs=1, random_state=0, negative_gradient_method="bh").fit(vectors)
    theirs = np.asarray(theirs, np.float32)
    assert kl <= 1.01 * divergence(joint_probabilities(vectors, 30.0), theirs)
    ours, other = (trustworthiness(vectors, layout, n_neighbors=15) for layout in (positions, theirs))
    assert ours > other - 0.002
    assert np.abs(positions.mean(0)).max() < 1e-3


def bits(positions):
    return hashlib.sha256(positions.tobytes()).hexdigest()


CHILD = """
import sys; sys.path[:0] = sys.argv[1:]
import numpy as np, test_fast_tsne as tests
from headatlas.numeric.fast_tsne.descent import _move
print(tests.bits(tests.embed(tests.islands(400))[0]), tests.bits(tests.embed(tests.islands(200), 3)[0]))
print(sum(_move.stats.cache_hits.values()))
"""


@pytest.mark.slow
def test_a_process_that_compiles_and_one_that_loads_give_the_same_bits(tmp_path):
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_NUM_THREADS": "1", "PYTHONPATH": ":".join(sys.path)}
    command, printed = [sys.executable, "-c", CHILD, *sys.path], []
    for _ in range(2):
        child = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert child.returncode == 0, child.stderr
        printed.append(child.stdout.splitlines())
    (compiled, none), (loaded, hits) = printed
    assert none == "0" and int(hits) > 0
    assert compiled == loaded == f"{bits(embed(islands(400))[0])} {bits(embed(islands(200), 3)[0])}"


def test_the_seed_decides_the_layout():
    vectors = islands(200)
    first, again, other = (embed(vectors, seed=seed)[0] for seed in (1, 1, 2))
    assert np.array_equal(first, again) and not np.array_equal(first, other)


@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 20])
def test_few_points_have_finite_positions(n, dims):
    positions, kl = embed(islands(n), dims)
    assert positions.shape == (n, dims) and positions.dtype == np.float32
    assert np.isfinite(positions).all() and math.isfinite(kl)
    assert len(np.unique(positions, axis=0)) == n


def test_perplexity_shrinks_with_few_points():
    assert perplexity_for(91) == 30 and perplexity_for(61) == 20
    vectors = islands(31)
    assert np.array_equal(embed(vectors)[0], embed(vectors, perplexity=10)[0])


def test_equal_points_and_duplicates():
    equal, kl = embed(np.full((200, 5), 3.3, np.float32))
    assert np.isfinite(equal).all() and math.isfinite(kl)
    vectors = np.repeat(islands(100), 3, axis=0)
    positions, kl = embed(vectors)
    triples = positions.reshape(100, 3, 2)
    assert np.isfinite(kl)
    within = np.linalg.norm(triples - triples.mean(1, keepdims=True), axis=-1).mean()
    assert within < 0.1 * np.linalg.norm(positions, axis=1).mean()


def test_a_single_feature_is_enough():
    positions, kl = embed(np.arange(150, dtype=np.float32)[:, None], 3)
    assert positions.shape == (150, 3) and np.isfinite(positions).all() and math.isfinite(kl)


@pytest.mark.parametrize(
    ("vectors", "dims", "message"), [(np.full((9, 2), np.nan), 2, "finite"), (np.eye(9), 4, "3 dim")]
)
def test_what_cannot_be_laid_out_is_an_error(vectors, dims, message):
    with pytest.raises(ValueError, match=message):
        embed(vectors, dims)
