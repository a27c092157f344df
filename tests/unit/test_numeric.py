"""Shared numerics: principal axes against scikit-learn and SVD, samples, pooling against a slow loop, threads."""

import threading
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_info, threadpool_limits

from headatlas.numeric import metrics, pooling
from headatlas.numeric.chance import above_zero, away_from_zero
from headatlas.numeric.estimates import StreamedMeans, mean_over_sources, moments, source_means
from headatlas.numeric.pca import ROWS, PrincipalAxes, fit_pca
from headatlas.numeric.sampling import random_sample, systematic_sample, thin
from headatlas.numeric.threads import single_thread
from support import reference

# principal axes


def mixed(rows, columns, seed=0):
    """Correlated columns of different size, and a mean that is not zero."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, columns)) * np.linspace(3, 1, columns) @ rng.normal(size=(columns, columns)) + 2


SHAPES = [(300, 20), (20, 300), (7, 7), (2, 5), (5, 1)]


@pytest.mark.parametrize(("rows", "columns"), SHAPES)
def test_axes_match_scikit_learn(rows, columns):
    values = mixed(rows, columns)
    count = min(rows - 1, columns, 10)
    space, model = fit_pca(values, components=count), PCA(count, svd_solver="full").fit(values)
    signs = np.sign((space.axes * model.components_.T).sum(0))
    scale = np.abs(values).max()
    np.testing.assert_allclose(space.mean, model.mean_, atol=1e-6 * scale)
    np.testing.assert_allclose(space.axes * signs, model.components_.T, atol=1e-6)
    np.testing.assert_allclose(space.shares, model.explained_variance_ratio_, atol=1e-9)
    np.testing.assert_allclose(space.apply(values) * signs, model.transform(values), atol=1e-5 * scale)


@pytest.mark.parametrize(("rows", "columns"), SHAPES)
def test_axes_match_a_singular_value_decomposition(rows, columns):
    values = mixed(rows, columns, seed=1)
    space = fit_pca(values)
    assert space.axes.shape == (columns, min(rows, columns)) and space.axes.dtype == np.float32
    size, right = np.linalg.svd(values - values.mean(0), full_matrices=False)[1:]
    count = min(rows - 1, columns)  # beyond there is no variance
    assert np.abs((space.axes.T @ right.T)[:count, :count]) == pytest.approx(np.eye(count), abs=1e-5)
    assert space.shares == pytest.approx(size**2 / (size**2).sum(), abs=1e-9)
    assert (space.axes[np.abs(space.axes).argmax(0), np.arange(space.axes.shape[1])] > 0).all()


def test_axes_end_where_enough_variance_is_kept():
    values = np.diag([4.0, 2.0, 1.0, 1.0])[np.repeat(np.arange(4), 2)] * np.tile([1, -1], 4)[:, None]  # 16 : 4 : 1 : 1
    assert fit_pca(values).shares == pytest.approx(np.array([16, 4, 1, 1]) / 22)
    for variance, count in [(0.5, 1), (16 / 22, 1), (0.73, 2), (20 / 22, 2), (0.95, 3), (1.0, 4)]:
        assert fit_pca(values, variance=variance).axes.shape == (4, count)
    assert fit_pca(values, variance=1.0, components=2).axes.shape == (4, 2)


@pytest.mark.parametrize("rows", [1, 3, 9])
def test_rows_that_are_all_equal_are_at_zero(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        space = fit_pca(np.full((rows, 4), 0.3))
    assert np.isfinite(space.shares).all() and np.abs(space.apply(np.full((2, 4), 0.3))).max() < 1e-6


def test_coordinates_are_float32_for_any_type_and_number_of_rows():
    space = PrincipalAxes(np.ones(3, np.float32), np.eye(3, 2, dtype=np.float32), np.ones(2))
    values = np.arange(3 * (ROWS + 5)).reshape(-1, 3).astype(np.float64)
    coordinates = space.apply(values)
    assert coordinates.dtype == np.float32 and (coordinates == values[:, :2] - 1).all()
    assert space.apply(values[:0].astype(np.float16)).shape == (0, 2)
    assert (space.first(1).apply(values) == coordinates[:, :1]).all()


# samples


def grid(layers, heads, missing=0):
    """Layer and head of all heads except the last few."""
    return np.argwhere(np.ones((layers, heads), bool))[: layers * heads - missing]


def draw(examples, heads, size, seed=0, remainder=False):
    seeds = [[seed, *head] for head in heads.tolist()]
    return random_sample(examples, heads, size, seeds, remainder=[seed, 99] if remainder else None)


def rows_of(index):
    return {tuple(row) for row in index.tolist()}


def per_head(index, heads):
    return [int((index[:, 1:] == head).all(1).sum()) for head in heads]


sizes = {
    "examples": st.integers(1, 60),
    "layers": st.integers(1, 4),
    "width": st.integers(1, 5),
    "size": st.integers(1, 400),
    "seed": st.integers(0, 5),
}


@settings(max_examples=100, deadline=None)
@given(**sizes, remainder=st.booleans(), missing=st.integers(0, 3))
def test_a_random_sample_has_every_head_equally_often(examples, layers, width, size, seed, remainder, missing):
    heads = grid(layers, width, min(missing, layers * width - 1))
    index = draw(examples, heads, size, seed, remainder)
    counts = per_head(index, heads)
    assert len(rows_of(index)) == len(index) == sum(counts)
    assert index.tolist() == sorted(index.tolist()) and index[:, 0].max() < examples
    if remainder:
        assert len(index) == min(size, examples * len(heads)) and max(counts) - min(counts) <= 1
    else:
        assert counts == [min(examples, max(1, size // len(heads)))] * len(heads)
    assert (index == draw(examples, heads, size, seed, remainder)).all()


@settings(max_examples=100, deadline=None)
@given(**sizes, remainder=st.booleans(), more=st.integers(0, 200))
def test_a_larger_random_sample_contains_the_smaller_one(examples, layers, width, size, seed, remainder, more):
    heads = grid(layers, width)
    small, large = (draw(examples, heads, count, seed, remainder) for count in (size, size + more))
    assert rows_of(small) <= rows_of(large)


def test_heads_are_sampled_independently_and_seeds_matter():
    heads = grid(2, 3)
    full, part = draw(50, heads, 60), draw(50, heads[1:], 50)
    assert rows_of(part) == {row for row in rows_of(full) if row[1:] != (0, 0)}
    assert rows_of(draw(50, heads, 60, seed=1)) != rows_of(full)
    drawn = [full[(full[:, 1:] == head).all(1), 0].tolist() for head in heads]
    assert len(set(map(tuple, drawn))) == 6  # different examples for each head
    assert not len(draw(50, heads[:0], 5)) and not len(draw(50, heads[:0], 5, remainder=True))


def test_every_map_is_drawn_equally_often():
    counts = np.zeros(20)
    for seed in range(300):
        counts[draw(20, grid(1, 2), 10, seed)[:, 0]] += 1
    assert stats.chisquare(counts).pvalue > 0.01


@settings(max_examples=100, deadline=None)
@given(**sizes)
def test_a_systematic_sample_has_every_head_equally_often_at_even_steps(examples, layers, width, size, seed):
    heads = grid(layers, width)
    index = systematic_sample(examples, heads, size, seed)
    count = min(examples, max(1, size // len(heads)))
    assert per_head(index, heads) == [count] * len(heads)
    assert len(rows_of(index)) == len(index) and index.tolist() == sorted(index.tolist())
    for head in heads:
        example = index[(index[:, 1:] == head).all(1), 0]
        assert (np.floor(example * count / examples + 1e-9) <= np.arange(count)).all()  # one from each stretch
        assert np.diff(example, append=examples, prepend=-1).max() <= 2 * examples / count + 1
    assert (index == systematic_sample(examples, heads, size, seed)).all()


@settings(max_examples=100, deadline=None)
@given(**sizes, most=st.integers(1, 200))
def test_a_sample_is_thinned_evenly_over_heads(examples, layers, width, size, seed, most):
    index = draw(examples, grid(layers, width), size, seed)
    rows = thin(index, most, seed)
    assert len(rows) == min(most, len(index)) and (np.diff(rows) > 0).all()
    counts = per_head(index[rows], grid(layers, width))
    assert max(counts) - min(counts) <= 1


# pooling


@settings(max_examples=50, deadline=None)
@given(n=st.integers(1, 200), r=st.sampled_from([2, 7, 16, 32]))
def test_pooling_weights_preserve_mass(n, r):
    rows, columns = pooling.overlaps(n, r) / n, pooling.overlaps(n, r) / r
    assert np.allclose(rows.sum(0), 1)  # each bin averages queries
    assert np.allclose(columns.sum(1), 1)  # each key's mass is spread, none is lost
    packed = pooling.pooling_rows(n, r), pooling.pooling_columns(n, r)
    for (first, weights), dense in zip(packed, (rows, columns.T), strict=True):
        rebuilt = np.zeros((len(dense), dense.shape[1] + weights.shape[1]))
        for number, start in enumerate(first):
            rebuilt[number, start : start + weights.shape[1]] = weights[number]
        assert np.allclose(rebuilt[:, : dense.shape[1]], dense, atol=1e-7)


@settings(max_examples=40, deadline=None)
@given(n=st.integers(1, 24), m=st.integers(1, 24), r=st.integers(1, 20), seed=st.integers(0, 9))
def test_pooling_matches_the_definition_and_rows_keep_their_sum(n, m, r, seed):
    attention = np.random.default_rng(seed).dirichlet(np.ones(m), (2, n))
    pooled_maps = pooling.pool(attention, r)
    assert pooled_maps.shape == (2, r, r) and np.allclose(pooled_maps.sum(-1), 1, atol=1e-12)
    for weights, pooled in zip(attention, pooled_maps, strict=True):
        assert np.allclose(pooled, reference.pooled(weights, r), atol=1e-12)
    assert pooling.pool(attention.astype(np.float32), r).dtype == np.float32


def test_pooling_to_the_same_size_is_the_identity_and_to_a_divisor_is_block_sums():
    attention = np.random.default_rng(0).dirichlet(np.ones(32), 32)
    assert (pooling.pool(attention, 32) == attention).all()
    assert np.allclose(pooling.pool(attention, 8), attention.reshape(8, 4, 8, 4).sum(3).mean(1))


# metrics


def test_entropy_matches_scipy():
    shares = np.random.default_rng(0).dirichlet(np.full(6, 0.3), (3, 4))
    shares[0, 0] = np.eye(6)[2]
    np.testing.assert_allclose(metrics.entropy(shares), stats.entropy(shares, axis=-1), atol=1e-12)
    assert not np.signbit(metrics.entropy(np.eye(3))).any()


def test_an_interval_is_nan_where_nothing_was_drawn():
    draws = np.random.default_rng(0).normal(size=(999, 2))
    draws[:, 1] = np.nan
    low, high = metrics.interval(draws)
    assert (low[0], high[0]) == tuple(np.percentile(draws[:, 0], [2.5, 97.5]))
    assert np.isnan([low[1], high[1]]).all()
    assert np.isnan(metrics.interval(np.zeros((0, 3)))).all()


# threads


def limits(kind):
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == kind}


@pytest.fixture
def two_threads():
    """Two threads for every library, on any machine, unless something limits them."""
    threads = torch.get_num_threads()
    with threadpool_limits(2):
        torch.set_num_threads(2)
        yield
    torch.set_num_threads(threads)


def in_thread(function):
    results = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


def test_a_single_thread_holds_inside_and_settings_are_restored(two_threads):
    for _ in range(2):
        with pytest.raises(KeyError), single_thread("sklearn", "scipy.linalg"):
            assert limits("blas") == limits("openmp") == {1} and torch.get_num_threads() == 1
            with single_thread():
                assert limits("blas") == limits("openmp") == {1}
            assert limits("blas") == limits("openmp") == {1} and torch.get_num_threads() == 1
            raise KeyError
        assert limits("blas") == limits("openmp") == {2} and torch.get_num_threads() == 2


def test_a_thread_that_leaves_keeps_the_limit_for_others(two_threads):
    inside = single_thread()
    entered, leave = threading.Event(), threading.Event()

    @single_thread()
    def other():
        entered.set()
        leave.wait(10)
        return limits("blas"), limits("openmp"), torch.get_num_threads()

    results = []
    thread = threading.Thread(target=lambda: results.append(other()))
    with inside:  # the first to enter is the first to leave
        thread.start()
        assert entered.wait(10)
    assert limits("blas") == {1}
    leave.set()
    thread.join()
    assert results == [({1}, {1}, 1)]
    assert limits("blas") == limits("openmp") == {2} and torch.get_num_threads() == 2


def test_a_worker_thread_is_limited_once_it_enters(two_threads):
    with single_thread("sklearn"):
        assert in_thread(single_thread()(lambda: (limits("blas"), limits("openmp")))) == ({1}, {1})
        assert limits("blas") == {1}


@pytest.mark.parametrize("block", [1, 7, 64, 200])
def test_streamed_means_are_those_of_all_values_at_once(block):
    rng = np.random.default_rng(0)
    values = rng.normal(1.0, 2.0, (200, 5))
    values[rng.random(values.shape) < 0.2] = np.nan
    values[:, 4] = np.nan
    source = np.sort(rng.integers(0, 60, 200))
    source[::17] = 3  # a source that is spread over all blocks
    source = np.unique(source, return_inverse=True)[1]
    streamed = StreamedMeans(source, 5)
    for start in range(0, 200, block):
        streamed.add(values[start : start + block])
    assert not streamed.open
    for one, other in zip(streamed.moments().estimates(20), mean_over_sources(values, source, 20), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    means = source_means(values, source)
    np.testing.assert_allclose(streamed.signs()[:4], np.nanmean(np.sign(means[:, :4]), 0))


def test_p_of_means_is_that_of_a_t_test():
    values = np.random.default_rng(0).normal(0.2, 1.0, (40, 6))
    means = moments(values)
    one_sided = stats.ttest_1samp(values, 0, alternative="greater").pvalue
    np.testing.assert_allclose(above_zero(means, 20), one_sided)
    np.testing.assert_allclose(away_from_zero(means, 20), stats.ttest_1samp(values, 0).pvalue)
    assert np.isnan(away_from_zero(means, 41)).all()
    same = moments(np.array([[0.0, 0.5, -0.5]] * 20))
    assert above_zero(same, 20).tolist() == [1.0, 0.5**20, 1.0]
    assert away_from_zero(same, 20).tolist() == [1.0, 0.5**19, 0.5**19]
