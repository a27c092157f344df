"""The numbers of correlate against slow or independent computations."""

import numpy as np
import pytest
from scipy import stats as scipy_stats
from scipy.spatial.distance import jensenshannon
from sklearn.metrics import adjusted_mutual_info_score

from headatlas.numeric.chance import false_discovery_rates
from headatlas.stages.correlate import counts, factors, shuffle
from headatlas.stages.correlate.dataset_columns import Column, units
from headatlas.stages.correlate.effect import Draws, adjusted_information, bound, table_v
from headatlas.stages.correlate.heads import shares, similarity
from headatlas.stages.correlate.home import heads_of, layers_of
from headatlas.stages.correlate.locality import locality
from headatlas.stages.correlate.matched import Ranked, contrast


def labels_of(examples=30, slots=(3, 4), kinds=4, seed=0, missing=0.1):
    """Labels (example, layer, head) in which examples have strong preferences and heads none."""
    rng = np.random.default_rng(seed)
    preferences = rng.dirichlet(np.full(kinds, 0.5), examples)
    labels = np.array([rng.choice(kinds, slots, p=weights) for weights in preferences])
    labels[rng.random(labels.shape) < missing] = -2
    return labels


def test_counts_and_associations_against_slow_ones():
    labels = labels_of()
    labels[0, 0, 0] = -1
    maps = counts.coded(labels)
    assert maps.clusters.tolist() == [0, 1, 2, 3, -1]
    heads, examples = maps.heads(), maps.examples()
    for slot in range(12):
        for code, cluster in enumerate(maps.clusters):
            assert heads[slot, code] == (labels[:, maps.layer[slot], maps.head[slot]] == cluster).sum()
    for e in range(30):
        assert examples[e].tolist() == [(labels[e] == cluster).sum() for cluster in maps.clusters]
    exists = labels != -2
    head_numbers = np.broadcast_to(np.arange(12).reshape(3, 4), labels.shape)[exists]
    assert adjusted_information(heads) == pytest.approx(
        adjusted_mutual_info_score(head_numbers, labels[exists]), abs=1e-9
    )
    n, (r, c) = heads.sum(), heads.shape
    phi2 = scipy_stats.contingency.association(heads, method="cramer") ** 2 * min(r - 1, c - 1)
    better = max(0, phi2 - (r - 1) * (c - 1) / (n - 1))
    sizes = [size - (size - 1) ** 2 / (n - 1) for size in (r, c)]
    assert table_v(heads) == pytest.approx(np.sqrt(better / (min(sizes) - 1)))
    assert table_v(np.diag([20, 30, 10])) == pytest.approx(1)
    assert np.isnan(table_v(np.ones((1, 4), int)))


def test_null_of_heads_and_layers_is_the_simulated_one():
    maps = counts.coded(labels_of(examples=20))
    tables = np.array([shuffle.within_rows(maps.codes, maps.kinds, maps.group, 1, n) for n in range(20_000)])
    assert (tables.sum((1, 2)) == (maps.codes >= 0).sum()).all()
    both = [(tables, counts.null_heads(maps.codes, maps.kinds))]
    both += [(maps.by_layer(tables), counts.null_layers(maps.codes, maps.kinds, maps.layer))]
    for simulated, (mean, variance) in both:
        error = np.sqrt(variance / len(simulated))
        assert (np.abs(simulated.mean(0) - mean) < 4.5 * error + 1e-9).all()
        assert np.allclose(simulated.var(0), variance, rtol=0.08, atol=1e-3)


def test_null_of_a_column_is_the_simulated_one():
    rng = np.random.default_rng(3)
    maps = counts.coded(labels_of(examples=40), np.repeat(np.arange(25), rng.permutation([1] * 15 + [2, 3] * 5))[:40])
    group = maps.group
    value = rng.integers(0, 3, group.max() + 1)[group]
    unit = units(value, group)
    assert not unit.kept
    table = maps.examples()
    order = (unit.members, unit.starts, unit.strata, unit.kept)
    simulated = np.array([shuffle.values_over_groups(table, value, *order, 3, 5, n) for n in range(20_000)])
    residual = simulated - simulated.sum(2, keepdims=True) * table.sum(0) / table.sum()
    variance, _ = factors.null_column(table, value, unit, 3)
    assert np.allclose(residual.mean(0), 0, atol=4.5 * np.sqrt(variance.max() / 20_000))
    assert np.allclose(residual.var(0), variance, rtol=0.08)


def test_values_that_differ_within_a_text_move_with_it():
    group = np.array([0, 0, 1, 2, 2, 3])
    value = np.array([0, 1, 0, 1, 1, 2])
    unit = units(value, group)
    assert unit.kept
    counted = np.eye(6, dtype=np.int64)  # one map per example: the table shows which value each example got
    outcomes = set()
    for n in range(200):
        table = shuffle.values_over_groups(counted, value, *(unit.members, unit.starts, unit.strata, True), 3, 0, n)
        outcomes.add(tuple(table.argmax(0)))
    assert outcomes == {(a, b, c, d, e, f) for a, b, d, e in ((0, 1, 1, 1), (1, 1, 0, 1)) for c, f in ((0, 2), (2, 0))}


def run(labels, column=None, permutations=99, seed=0, group=None):
    """The tests of head and layer or, if a column is given, the test of that column."""
    maps = counts.coded(labels, group)
    options = (permutations, seed, Draws(int(maps.group.max()) + 1, 0, 0), lambda _: None)
    if column is not None:
        return factors.of_column(column, maps, maps.examples(), *options)
    return {factor.name: factor for factor in factors.heads_and_layers(maps, *options)}


def uniform(p, permutations, seed=0):
    """P-value of a Kolmogorov–Smirnov test, with the steps of 1 / (1 + B) filled at random."""
    spread = np.array(p) - np.random.default_rng(seed).random(len(p)) / (1 + permutations)
    return scipy_stats.kstest(spread, "uniform").pvalue


def test_without_an_effect_p_is_uniform_though_examples_differ():
    """Examples have strong preferences, heads and the column none; windows of a text share both."""
    head, layer, column, naive = [], [], [], []
    survived = {"head": [], "column": []}
    for seed in range(200):
        rng = np.random.default_rng([seed, 9])
        group = np.repeat(np.arange(20), rng.permutation([1] * 14 + [2] * 3 + [4] * 3))
        labels = labels_of(20, seed=seed)[group]
        noisy = rng.random(labels.shape) < 0.3
        labels[noisy] = rng.permutation(labels[noisy])
        values = Column("column", rng.integers(0, 2, 20)[group], ("a", "b"))
        result = run(labels, values, seed=seed, group=group)
        column.append(result.p)
        naive.append(scipy_stats.chi2_contingency(result.table[:, result.table.sum(0) > 0]).pvalue)
        survived["column"].append(result.cells["q"] < 0.05)
        results = run(labels_of(24, seed=1000 + seed), seed=seed)
        head.append(results["head"].p)
        layer.append(results["layer"].p)
        survived["head"].append(results["head"].cells["q"] < 0.05)
    for p in (head, layer, column):
        assert uniform(p, 99) > 0.01
    for masks in survived.values():
        assert np.mean([mask.mean() for mask in masks]) < 0.05
        assert np.mean([mask.any() for mask in masks]) < 0.1  # the false discovery rate, as all discoveries are false
    assert np.mean(np.array(naive) < 0.05) > 0.5  # treating maps as independent would give false alarms


def test_shuffling_all_maps_at_once_would_fail_with_missing_heads():
    """A head that is missing where a cluster is common seems to avoid it; within examples it does not."""
    blocked, free = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        labels = np.where(np.arange(200)[:, None, None] < 100, 0, 1) ^ (rng.random((200, 1, 6)) < 0.2)
        labels[:100, :, 0] = -2
        maps = counts.coded(labels)
        blocked.append(run(labels, permutations=99)["head"].p)
        free.append(scipy_stats.chi2_contingency(maps.heads()).pvalue)
    assert uniform(blocked, 99) > 0.01 and np.mean(np.array(free) < 0.05) > 0.5


def test_windows_of_a_text_cannot_fake_an_association():
    """Every window has exactly one map of each cluster; one value has all the long texts."""
    group = np.concatenate([np.arange(30), np.repeat(np.arange(30, 36), 4)])
    labels = np.broadcast_to(np.array([[0, 1, 2]]), (len(group), 1, 3))
    result = run(labels, Column("c", (group >= 30).astype(int), ("short", "long")), group=group)
    assert result.p == 1 and (result.cells["p"] == 1).all() and np.allclose(result.table, result.cells["expected"])


def slow_delta(values, inside):
    """Means and Cliff's delta of maps (text, map) against other maps of the same texts, by loops."""
    means, signs = [], []
    for row, chosen in zip(values, inside, strict=True):
        others = [value for value, known in zip(row, chosen, strict=True) if not known and value == value]
        for value in (value for value, known in zip(row, chosen, strict=True) if known and value == value):
            if others:
                means.append(np.mean(others))
                signs.append(np.mean([np.sign(value - other) for other in others]))
    return np.nanmean(values[inside]), np.mean(means), np.mean(signs)


def test_cliffs_delta_against_loops():
    rng = np.random.default_rng(0)
    values = np.round(rng.normal(size=(40, 6)), 1)  # with ties
    values += rng.normal(size=(40, 1)) * 5  # a text changes all of its maps
    codes, group = rng.integers(0, 3, (40, 6)), np.repeat(np.arange(20), 2)
    values[codes == 2] += 0.7
    values[:5, 1] = np.nan
    codes[5] = 2  # no other maps to compare with
    codes[6, :2] = -1  # these do not exist
    values[6, :2] = np.nan
    effect = contrast(Ranked.of(values), codes, np.eye(3), group, Draws(20, 400, 0))
    for code in range(3):
        expected = slow_delta(values, codes == code)
        assert (effect.mean[code], effect.rest[code], effect.delta[code]) == pytest.approx(expected)
    both = contrast(Ranked.of(values), codes, np.array([[1, 0, 1]]), None, None)
    expected = slow_delta(values, (codes == 0) | (codes == 2))
    assert (both.mean[0], both.rest[0], both.delta[0]) == pytest.approx(expected) and np.isnan(both.low[0])
    spread = []
    for weights in Draws(20, 400, 0):
        picked = np.repeat(np.arange(40), weights[group])
        spread.append(slow_delta(values[picked], codes[picked] == 2)[2])
    assert np.allclose([effect.low[2], effect.high[2]], np.percentile(spread, [2.5, 97.5]))


def test_what_a_text_does_to_all_of_its_maps_is_no_difference():
    """On short texts everything is near: a cluster of maps on such texts does not differ by that."""
    rng = np.random.default_rng(0)
    short = np.arange(60) < 30
    near = np.where(short, 0.9, 0.2)[:, None] + rng.normal(0, 0.05, (60, 8))
    codes = np.where(short[:, None], rng.random((60, 8)) < 0.7, 0).astype(int)  # code 1 is on short texts only
    effect = contrast(Ranked.of(near), codes, np.eye(2), None, None)
    assert effect.mean[1] > 0.85 and effect.rest[1] > 0.85 and abs(effect.delta[1]) < 0.15


def test_with_one_map_per_text_all_texts_are_compared():
    values, codes = np.array([[1.0], [2.0], [3.0], [np.nan]]), np.array([[0], [1], [1], [1]])
    effect = contrast(Ranked.of(values), codes, np.eye(2), np.arange(4), Draws(4, 9, 0))
    assert effect.delta.tolist() == [-1, 1] and effect.rest.tolist() == [2.5, 1] and np.isnan(effect.low).all()


def test_corrected_p_values_and_bound():
    p = np.random.default_rng(1).random((7, 9)) ** 3
    assert np.allclose(false_discovery_rates(p), scipy_stats.false_discovery_control(p.ravel()).reshape(p.shape))
    chances = np.random.default_rng(2).random(40) * 0.3
    sums = (np.random.default_rng(3).random((200_000, 40)) < chances).sum(1)
    for x in range(25):
        true = np.mean(np.abs(sums - chances.sum()) >= abs(x - chances.sum()))
        assert bound(np.array(x), np.array(chances.sum()), np.array(40)) >= min(1, true) * 0.95
    assert bound(np.array(40), np.array(chances.sum()), np.array(40)) < 1e-20


def test_similarity_of_profiles():
    table = np.random.default_rng(0).integers(0, 9, (6, 4))
    table[5] = table[4]
    profile = shares(table)
    alike = similarity(profile)
    for a in range(6):
        for b in range(6):
            assert alike[a, b] == pytest.approx(1 - jensenshannon(profile[a], profile[b], base=2), abs=1e-6)


def test_locality_finds_planted_layers_and_nothing_else():
    rng = np.random.default_rng(0)
    layer = np.repeat(np.arange(8), 6)
    smooth = np.array([[np.exp(-((depth / 7 - c / 4) ** 2) * 20) for c in range(5)] for depth in range(8)])
    table = rng.multinomial(100, smooth[layer] / smooth[layer].sum(1, keepdims=True))
    resampled = rng.multinomial(100, shares(table), (50, 48))
    same, adjacent = locality(table, layer, 199, 0, resampled)
    assert same.p == 1 / 200 and adjacent.p <= 0.02
    assert same.low > 0 and adjacent.low > 0 and same.difference > adjacent.difference > 0
    order = np.arange(48).reshape(8, 6)[rng.permutation(8)].ravel()
    same, adjacent = locality(table[order], layer, 199, 1, resampled[:0])
    assert same.p == 1 / 200 and adjacent.p > 0.02 and np.isnan(same.low)  # layers are in no order
    p = np.array(
        [[test.p for test in locality(rng.permutation(table), layer, 99, n, resampled[:0])] for n in range(60)]
    )
    assert uniform(p[:, 0], 99) > 0.01 and uniform(p[:, 1], 99) > 0.01


def test_locality_tries_all_orders_of_few_layers():
    table = np.repeat(np.array([[9, 1], [5, 5], [1, 9]]), 2, 0)
    _, adjacent = locality(table, np.repeat([0, 1, 2], 2), 999, 0, np.empty((0, 6, 2)))
    assert adjacent.permutations == 5 and adjacent.p == pytest.approx(2 / 6)  # 3! orders; the reverse is as good
    for test in locality(table[:2], np.zeros(2, int), 9, 0, np.empty((0, 2, 2))):
        assert np.isnan(test.p)


def test_home_layers():
    labels = np.broadcast_to(np.array([[0, 0], [0, 0], [1, 1], [0, 1]]), (40, 4, 2))
    layer = run(labels)["layer"]
    assert layers_of(layer, 0) == [0, 1] and layers_of(layer, 1) == [2, 3]  # 1 of 2 where 3 of 8 are expected
    even = np.broadcast_to(np.array([[0, 1]] * 4), (40, 4, 2))
    assert layers_of(run(even)["layer"], 0) == []


def test_all_heads_that_qualify_are_listed():
    """Heads whose maps are mostly in a cluster, by share; if there are none, heads with more maps than expected."""
    labels = np.zeros((200, 2, 8), int)
    labels[:, 0, 1:] = 1  # seven heads have cluster 1 only
    labels[:20, 0, 1] = 0
    labels[:60, 1, 0] = 2  # L1·H0 has cluster 2 in 30% of its maps, no other head has it
    heads, maps = run(labels)["head"], counts.coded(labels)
    listed = heads_of(maps, heads, 1)
    assert [(head["layer"], head["head"]) for head in listed] == [(0, n) for n in (2, 3, 4, 5, 6, 7, 1)]
    assert [head["share"] for head in listed] == [1.0] * 6 + [0.9]
    assert heads_of(maps, heads, 2) == [{"layer": 1, "head": 0, "share": 0.3}]
