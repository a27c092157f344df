"""The t-SNE kernel against plain float64 loops, finite differences and openTSNE; the same seed gives the same bits."""

import hashlib
import math
import os
import platform
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headatlas import data
from headatlas.stages.tsne import kernel
from headatlas.stages.tsne.heads import head_affinity
from headatlas.stages.tsne.lanes import WIDTH
from headatlas.stages.tsne.reading import read
from headatlas.stages.tsne.runs import active_heads


def probabilities(n, seed=0, sharp=0.1):
    attention = np.random.default_rng(seed).dirichlet(np.full(n, sharp), n)
    both = (attention + attention.T) * (1 - np.eye(n))
    return both / both.sum()


def plain_kl(p, y):
    """KL by its definition, pair by pair."""
    n, q, total = len(p), np.zeros(p.shape), 0.0
    for i in range(n):
        for j in range(n):
            if i != j:
                q[i, j] = 1 / (1 + math.dist(y[i], y[j]) ** 2)
                total += q[i, j]
    return sum(p[i, j] * math.log(p[i, j] / (q[i, j] / total)) for i in range(n) for j in range(n) if p[i, j] > 0)


def lanes_of(places):
    """Positions (layout, point, axis) as the kernel takes them: (axis, point, lane)."""
    return np.ascontiguousarray(places.transpose(2, 1, 0).astype(np.float32))


def kernel_gradient(p, places):
    near = 1 / (1 + ((places[:, :, None] - places[:, None]) ** 2).sum(-1).astype(np.float64))
    total = near.sum((1, 2)) - places.shape[1]
    share = (1 / total)[None].astype(np.float32)
    place, sums = lanes_of(places), np.zeros((1, WIDTH), np.float32)
    force = np.zeros_like(place)
    kernel.gradient(p.astype(np.float32), place, share, force, sums)
    return force.transpose(2, 1, 0), sums[0], total


@pytest.mark.parametrize("n", [3, 4, 7, 12])
def test_the_gradient_matches_finite_differences(n):
    p = probabilities(n, n)
    places = np.random.default_rng(1).normal(0, 1.5, (WIDTH, n, 2)).astype(np.float32)
    gradient, _, _ = kernel_gradient(p, places)
    for lane in (0, WIDTH - 1):
        for i, axis in np.ndindex(n, 2):
            ends = []
            for step in (-1e-4, 1e-4):
                moved = places[lane].astype(np.float64)
                moved[i, axis] += step
                ends.append(plain_kl(p, moved))
            assert gradient[lane, i, axis] == pytest.approx((ends[1] - ends[0]) / 2e-4, abs=2e-6, rel=1e-4)


def test_q_is_normalized_by_the_sum_over_all_pairs():
    for n in (5, 40, 41):
        _, sums, total = kernel_gradient(probabilities(n), np.random.default_rng(n).normal(0, 3, (WIDTH, n, 2)))
        np.testing.assert_allclose(sums, total, rtol=1e-5)


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 30), st.integers(0, 999), st.sampled_from([0.02, 0.1, 1.0]), st.floats(0.01, 50))
def test_kl_matches_a_plain_loop(n, seed, sharp, spread):
    p = probabilities(n, seed, sharp)
    places = np.random.default_rng(seed).normal(0, spread, (2, n, 2)).astype(np.float32)
    divergences = kernel.divergence(p, places)
    for layout, kl in zip(places, divergences, strict=True):
        assert abs(kl - plain_kl(p, layout.astype(np.float64))) < 1e-5


def test_kl_counts_pairs_without_attention_as_zero():
    p = np.zeros((4, 4))
    p[0, 1] = p[1, 0] = p[2, 3] = p[3, 2] = 0.25
    places = np.random.default_rng(0).normal(size=(1, 4, 2)).astype(np.float32)
    assert abs(kernel.divergence(p, places)[0] - plain_kl(p, places[0].astype(np.float64))) < 1e-9


def test_a_layout_is_a_minimum_and_centered():
    p = probabilities(30)
    places, kl = kernel.layouts(p, restarts=WIDTH)
    assert np.abs(places.mean(1)).max() < 1e-4
    gradient, _, _ = kernel_gradient(p, places)
    start = (0.01 * np.random.default_rng(0).standard_normal((WIDTH, 30, 2))).astype(np.float32)
    assert np.abs(gradient).max() < 1e-3
    assert (kl < kernel.divergence(p, start) / 1.2).all()


def test_a_ring_comes_out_as_a_ring():
    n = 40
    attention = np.roll(np.eye(n), -1, 1)
    both = (attention + attention.T) / (2 * n)
    places, kl = kernel.layouts(both, restarts=16)
    best = places[kl.argmin()]
    steps = np.linalg.norm(best - np.roll(best, 1, 0), axis=1)
    assert steps.max() < np.linalg.norm(best[:, None] - best[None], axis=-1).max() / 2


def test_the_same_seed_gives_the_same_layout_and_more_restarts_keep_the_first_ones():
    p = probabilities(25)
    few, many = kernel.layouts(p, restarts=5, seed=3), kernel.layouts(p, restarts=20, seed=3)
    assert few[0].shape == (5, 25, 2) and many[1].shape == (20,)
    assert np.array_equal(few[0], many[0][:5]) and np.array_equal(few[1], many[1][:5])
    assert not np.array_equal(few[0], kernel.layouts(p, restarts=5, seed=4)[0])


CHILD = """
import hashlib, importlib, sys, numpy as np
from headatlas.stages.tsne import kernel
a = np.random.default_rng(0).dirichlet(np.full(33, 0.1), 33); p = (a + a.T) * (1 - np.eye(33)); p /= p.sum()
for _ in range(2):
    bits = hashlib.sha256(kernel.layouts(p, restarts=9)[0].tobytes()).hexdigest()
    print(bits, sum(kernel.descend.stats.cache_hits.values()))
    importlib.reload(kernel)  # what was compiled is now loaded
"""


def test_a_process_that_compiles_and_one_that_loads_give_the_same_bits(tmp_path):
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_NUM_THREADS": "1", "PYTHONPATH": ":".join(sys.path)}
    child = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, env=environment)
    assert child.returncode == 0, child.stderr
    compiled, loaded = (line.split() for line in child.stdout.splitlines())
    assert (compiled[1], loaded[1]) == ("0", "1")
    here = hashlib.sha256(kernel.layouts(probabilities(33), restarts=9)[0].tobytes()).hexdigest()
    assert compiled[0] == loaded[0] == here


PLAIN = """
import sys, numpy as np
sys.path[:0] = sys.argv[1:]
import test_tsne_kernel as tests
from headatlas.stages.tsne import kernel
from headatlas.stages.tsne.lanes import WIDTH
for n in (4, 7):
    tests.test_the_gradient_matches_finite_differences(n)
tests.test_q_is_normalized_by_the_sum_over_all_pairs()
tests.test_kl_matches_a_plain_loop()
_, kl = kernel.layouts(tests.probabilities(30), restarts=16)
code = "".join(kernel.descend.inspect_asm().values())
print(float(np.median(kl)), "ymm" in code, "zmm" in code)
"""


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names a processor of this family")
@pytest.mark.parametrize("processor", ["x86-64", "x86-64-v3"])
def test_processors_without_wide_vectors_give_the_same_result(tmp_path, processor):
    """The most basic 64-bit processor (only SSE2), and one with AVX2 but without AVX-512."""
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": ""}
    command = [sys.executable, "-c", PLAIN, *sys.path, str(Path(__file__).parent)]
    child = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment)
    assert child.returncode == 0, child.stderr
    median, *wide = child.stdout.split()
    assert wide == (["False", "False"] if processor == "x86-64" else ["True", "False"])
    assert float(median) == pytest.approx(np.median(kernel.layouts(probabilities(30), restarts=16)[1]), rel=0.01)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_fewer_than_three_points_have_a_fixed_layout(n):
    places, kl = kernel.layouts(np.full((n, n), 0.5) * (1 - np.eye(n)), restarts=3)
    assert places.shape == (3, n, 2) and np.isfinite(places).all() and (kl == 0).all()


def test_medians_are_as_good_as_those_of_open_tsne():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from openTSNE import TSNE
        from openTSNE.affinity import PrecomputedAffinities
    reading = read("packaged", next(iter(data.load("sample", limit=1))))
    for layer, head in active_heads(reading)[1:4]:
        p = head_affinity(reading, reading.model.layers[layer], head).p
        theirs = []
        for seed in range(3):
            tsne = TSNE(initialization="random", random_state=seed, n_jobs=1, negative_gradient_method="bh")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs.append(np.asarray(tsne.fit(affinities=PrecomputedAffinities(p)), np.float32))
        ours = np.median(kernel.layouts(p, restarts=16)[1])
        assert ours <= 1.01 * np.median(kernel.divergence(p, np.stack(theirs))), f"L{layer}·H{head}"
