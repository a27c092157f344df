"""What the input changes: numbers against slow or independent computations, and tests that are right under the null."""

import numpy as np
import pytest
from scipy import stats as scipy_stats
from sklearn.feature_selection import f_classif

from headatlas.atlas.groups import joined
from headatlas.stages.correlate import changes, counts, explained, factors
from headatlas.stages.correlate.dataset_columns import Column
from headatlas.stages.correlate.design import design
from headatlas.stages.correlate.effect import Draws
from headatlas.stages.correlate.vectors import Vectors


def vectors_of(values, group=None):
    """Vectors (slot, row, feature) as the stage reads them."""
    values = np.asarray(values, np.float32)
    rows = np.arange(values.shape[1])
    group = rows if group is None else np.asarray(group)
    return Vectors(rows, group, values, np.isfinite(values).all(-1))


def column_of(codes):
    codes = np.asarray(codes)
    return Column("kind", codes, tuple(f"v{code}" for code in range(codes.max() + 1)))


def compared(vectors, codes, permutations=199, seed=0, draws=50):
    """Changes of every head with one column, and the column over all heads."""
    bootstrap = Draws(vectors.groups, draws, seed)
    one = design(column_of(codes), vectors.examples, vectors.group, permutations, seed, bootstrap)
    rows, (pooled,) = changes.changes(vectors, [one], lambda steps: None)
    return rows, pooled


def slow_eta2(x, codes):
    """Eta² by loops over values."""
    total = ((x - x.mean(0)) ** 2).sum()
    between = sum(
        (codes == code).sum() * ((x[codes == code].mean(0) - x.mean(0)) ** 2).sum() for code in np.unique(codes)
    )
    return between / total


def test_eta_squared_is_the_direct_one():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 50)
    x = rng.normal(3, 1, (4, 50, 6)) + codes[:, None] * np.array([0, 0.3, 1, 3])[:, None, None]
    rows, pooled = compared(vectors_of(x), codes)
    for row, head in zip(rows, x, strict=True):
        assert row.share.eta2 == pytest.approx(slow_eta2(head, codes), rel=1e-5)
        assert row.share.chance == pytest.approx(2 / 49)
        assert row.share.explained == pytest.approx((row.share.eta2 - 2 / 49) / (1 - 2 / 49))
    f = f_classif(x[2, :, :1], codes)[0][0]  # for one feature, eta² follows from F
    rows_of_one, _ = compared(vectors_of(x[2:3, :, :1]), codes)
    assert rows_of_one[0].share.eta2 == pytest.approx(2 * f / (2 * f + 47), rel=1e-5)
    within = [((head - head.mean(0)) ** 2).sum() for head in x]
    weighted = np.dot(within, [row.share.eta2 for row in rows]) / np.sum(within)
    assert pooled.eta2 == pytest.approx(weighted, rel=1e-5) and pooled.within_heads


@pytest.mark.parametrize("grouped", [False, True])
def test_shuffles_and_draws_are_those_of_a_slow_loop(grouped):
    rng = np.random.default_rng(1)
    group = np.repeat(np.arange(25), 2) if grouped else np.arange(50)
    codes = rng.integers(0, 3, 25)[group % 25]
    x = rng.normal(size=(1, 50, 4)) + 5
    vectors, bootstrap = vectors_of(x, group), Draws(int(group.max()) + 1, 20, 3)
    one = design(column_of(codes), vectors.examples, vectors.group, 300, 0, bootstrap)
    (variation,) = changes.vary(vectors, 0, [one])
    for shuffled, squares in zip(one.shuffled, variation.shuffled, strict=True):
        assert squares / variation.total == pytest.approx(slow_eta2(x[0], shuffled), rel=1e-4)
        for number in np.unique(group):  # a group has one value in every shuffle
            assert len(set(shuffled[group == number])) == 1
    for weights, (between, total) in zip(bootstrap, variation.drawn, strict=True):
        again = np.repeat(np.arange(50), weights[group])
        assert between / total == pytest.approx(slow_eta2(x[0][again], codes[again]), rel=1e-3)
    null = variation.shuffled / variation.total
    expected = changes.share_of(variation, one).chance
    assert null.mean() == pytest.approx(expected, abs=4.5 * null.std() / np.sqrt(300))
    assert one.free != grouped and (expected == pytest.approx(2 / 49)) == (not grouped)


def test_values_that_differ_within_a_group_stay_in_order():
    group, codes = np.repeat(np.arange(30), 2), np.tile([0, 1], 30)
    codes[::6] = 1
    one = design(column_of(codes), np.arange(60), group, 50, 0, Draws(30, 0, 0))
    pairs = sorted(map(tuple, codes.reshape(30, 2)))
    assert all(sorted(map(tuple, shuffled.reshape(30, 2))) == pairs for shuffled in one.shuffled)
    assert np.exp(one.arrangements) == pytest.approx(scipy_stats.binom(30, 0.5).pmf(10) * 2.0**30, rel=1e-6)


def test_tail_is_pearson_type_three_and_close_to_many_shuffles():
    for z, skewness in [(1.0, 0.5), (4.0, 0.8), (6.0, 1.4), (3.0, 0.0)]:
        assert changes.gamma_tail(z, skewness) == pytest.approx(scipy_stats.pearson3.sf(z, skewness), rel=1e-6)
    rng = np.random.default_rng(4)
    x, codes = rng.normal(size=(1, 40, 3)) * [3, 1, 0.5], np.repeat([0, 1], 20)
    vectors = vectors_of(x)
    one = design(column_of(codes), vectors.examples, vectors.group, 200_000, 0, Draws(40, 0, 0))
    null = np.sort(changes.vary(vectors, 0, [one])[0].shuffled)
    for reached in (200, 20):  # p 0.001 and 0.0001
        observed, few = null[-reached], null[rng.permutation(len(null))][:999]
        few = few[few < observed]
        p = changes.p_value(float(observed), few, one.arrangements)
        assert reached / 200_000 / 4 < p < 4 * reached / 200_000


def uniform(p):
    """The p-value of the Kolmogorov–Smirnov test that p-values are uniform."""
    return scipy_stats.kstest(p, "uniform").pvalue


def null_p(runs, *, sources, texts, grouped):
    """P-values of a column without effect, where texts of one source share most of their vectors and their value."""
    p = []
    for run in range(runs):
        rng = np.random.default_rng([7, run])
        group = np.repeat(np.arange(sources), texts)
        x = rng.normal(size=(1, sources, 5))[:, group] * 2 + rng.normal(size=(1, len(group), 5))
        codes = np.concatenate([[0, 1], rng.integers(0, 2, sources - 2)])[group]
        rows, _ = compared(vectors_of(x, group if grouped else None), codes, seed=run, draws=0)
        p.append(rows[0].share.p)
    return np.array(p)


def test_without_an_effect_p_is_uniform():
    assert uniform(null_p(200, sources=40, texts=1, grouped=True)) > 0.01


def test_p_of_grouped_texts_is_uniform_only_with_groups():
    assert uniform(null_p(200, sources=30, texts=4, grouped=True)) > 0.01
    assert uniform(null_p(200, sources=30, texts=4, grouped=False)) < 1e-6


def test_p_of_a_column_that_differs_within_groups_is_uniform():
    p = []
    for run in range(200):
        rng = np.random.default_rng([8, run])
        group = np.repeat(np.arange(30), 3)
        x = rng.normal(size=(1, 30, 5))[:, group] * 2 + rng.normal(size=(1, 90, 5))
        codes = (rng.random(90) < rng.random(30)[group]).astype(int)
        p.append(compared(vectors_of(x, group), codes, seed=run, draws=0)[0][0].share.p)
    assert uniform(p) > 0.01


def test_p_of_heads_layers_and_examples_is_uniform_only_with_groups():
    """Labels of a text depend on head and text but not on the head alone; six texts of a source are nearly the same.

    For examples a group changes only how much the statistic varies, not its mean, so few texts per group hardly show.
    """
    p = {True: [], False: []}
    for run in range(200):
        rng = np.random.default_rng([9, run])
        labels = rng.integers(0, 3, (16, 3, 4)).repeat(6, 0)
        labels = np.where(rng.random(labels.shape) < 0.1, rng.integers(0, 3, labels.shape), labels)
        for grouped, group in ((True, np.repeat(np.arange(16), 6)), (False, None)):
            maps = counts.coded(labels, group)
            arguments = (99, run, Draws(16, 0, 0), lambda steps: None)
            tested = factors.heads_and_layers(maps, *arguments)
            tested.append(factors._examples(maps, maps.examples(), *arguments))
            p[grouped].append([factor.p for factor in tested])
    for grouped, alone in zip(np.transpose(p[True]), np.transpose(p[False]), strict=True):
        assert uniform(grouped) > 0.01 and uniform(alone) < 1e-4


def test_null_of_grouped_heads_is_the_simulated_one():
    from headatlas.stages.correlate import shuffle

    rng = np.random.default_rng(5)
    labels = rng.integers(0, 3, (12, 3, 4)).repeat(2, 0)
    maps = counts.coded(labels, np.repeat(np.arange(12), 2))
    tables = np.array([shuffle.within_rows(maps.codes, maps.kinds, maps.group, 1, n) for n in range(10_000)])
    mean, _ = counts.null_heads(maps.codes, maps.kinds)
    spread = counts.grouped_spread(maps)
    for simulated, middle in (
        (tables, mean),
        (maps.by_layer(tables), maps.by_layer(mean)),
    ):
        deviation = simulated - middle
        variance, bound = factors._grouped_null(maps, spread, deviation[0])
        assert np.allclose(deviation.mean(0), 0, atol=4.5 * np.sqrt(variance.max() / 10_000))
        assert np.allclose(deviation.var(0), variance, rtol=0.08)
        reached = np.mean([np.abs(deviation) >= abs(deviation[0])], 1)[0]
        assert (bound >= reached - 0.02).all()


def test_interval_holds_the_truth():
    """The share of 95% intervals that hold the true share of variance, with texts of one source alike."""
    hits = 0
    for run in range(120):
        rng = np.random.default_rng([11, run])
        codes = np.repeat([0, 1], 30)
        x = rng.normal(size=(1, 60, 4)) + np.where(codes == 1, 1.0, 0.0)[:, None]
        group = np.arange(60).repeat(2)
        (row,), _ = compared(vectors_of(x[:, group], group), codes[group], permutations=99, seed=run, draws=200)
        hits += row.share.low <= 0.2 <= row.share.high  # 4 × 0.25 of 4 × 1.25
    assert 0.88 <= hits / 120 <= 1


def slow_share(x, kind):
    """Eta² of all maps (row, slot, feature) by a factor given for each map."""
    return slow_eta2(x.reshape(-1, x.shape[-1]), kind.ravel())


def test_shares_of_heads_layers_and_examples_and_their_chance():
    rng = np.random.default_rng(6)
    group = np.repeat(np.arange(25), 2)
    x = rng.normal(size=(50, 6, 3)) + rng.normal(size=(6, 3)) + 0.5 * rng.normal(size=(50, 1, 3))
    layer = np.array([0, 0, 0, 1, 1, 2])
    shares, within = explained.variance_shares(vectors_of(np.moveaxis(x, 1, 0), group), layer, Draws(25, 30, 0))
    of_map = {"head": np.tile(np.arange(6), (50, 1)), "layer": np.tile(layer, (50, 1))}
    of_map["example"] = np.repeat(np.arange(50), 6).reshape(50, 6)
    null = {"head": [], "layer": [], "example": []}
    for _ in range(400):
        order = rng.permuted(np.tile(np.arange(6), (25, 1)), axis=1)[group]
        shuffled = np.take_along_axis(x, order[..., None], 1)
        null["head"].append(slow_share(shuffled, of_map["head"]))
        null["layer"].append(slow_share(shuffled, of_map["layer"]))
        examples = np.stack([x[rng.permutation(50), slot] for slot in range(6)], 1)
        null["example"].append(slow_share(examples, of_map["example"]))
    for name, share in shares.items():
        assert share.eta2 == pytest.approx(slow_share(x, of_map[name]), rel=1e-5)
        assert share.chance == pytest.approx(np.mean(null[name]), abs=4.5 * np.std(null[name]) / 20)
        assert share.low < share.explained < share.high and not share.within_heads
    total = ((x - x.mean((0, 1))) ** 2).sum(-1).mean()
    assert within.total == pytest.approx(total, rel=1e-5)
    assert within.share == pytest.approx(x.var(0).sum(-1) / total, rel=1e-5)
    assert within.share.mean() == pytest.approx(1 - shares["head"].eta2, rel=1e-5)
    assert (within.low < within.share).all() and (within.share < within.high).all()


def test_what_cannot_be_compared():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(3, 40, 4))
    x[1], x[2, :10] = 0.1, np.nan  # the same on all texts; no map for some texts
    codes = np.repeat([0, 1], 20)
    rows, pooled = compared(vectors_of(x), codes)
    assert [row.untested for row in rows] == [None, "same maps", None] and np.isnan(rows[1].share.eta2)
    assert np.isnan(rows[1].q) and rows[2].n == 30
    assert rows[2].share.eta2 == pytest.approx(slow_eta2(x[2, 10:], codes[10:]), rel=1e-5)
    assert np.isfinite(pooled.explained)
    few, pooled = compared(vectors_of(x[:1, :12]), codes[14:26])
    assert few[0].untested == "few groups" and np.isfinite(few[0].share.explained) and np.isnan(few[0].share.p)
    one, pooled = compared(vectors_of(x[:1]), np.where(np.arange(40) < 30, 1, -1))
    assert one[0].untested == "one value" and np.isnan(pooled.explained)
    shares, within = explained.variance_shares(vectors_of(np.ones((2, 30, 3))), np.array([0, 1]), Draws(30, 9, 0))
    assert shares == {} and np.isnan(within.share).all()


def test_groups_join_texts_and_values():
    assert joined(np.array([0, 1, 2]), np.array([-1, -1, -1])).tolist() == [0, 1, 2]
    assert joined(np.array([0, 1, 2, 3]), np.array([5, 5, 0, 0])).tolist() == [0, 0, 1, 1]
    assert joined(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2])).tolist() == [0, 0, 0, 0]
