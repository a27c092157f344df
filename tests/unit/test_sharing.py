"""What near points share, against slow loops over all pairs."""

import numpy as np
import pytest
from scipy.stats import rankdata

from headatlas.numeric.sharing import differences, nearest, strength

POINTS = np.random.default_rng(0).normal(size=(60, 4)) + 100
NUMBERS = np.round(np.random.default_rng(1).normal(size=60), 1)
KINDS = np.random.default_rng(2).integers(4, size=60)


def slow_neighbors(point, count, apart=()):
    """The nearest points that differ from this one in every column of `apart`, by sorting."""
    order = np.argsort(np.linalg.norm(POINTS - POINTS[point], axis=1))
    allowed = [other for other in order if other != point and all(column[other] != column[point] for column in apart)]
    return {*allowed[:count]}


def slow_strength(gap, known, count=10):
    """By its definition, from the difference (point, point) of every pair."""
    near = [gap[i, j] for i in known for j in slow_neighbors(i, count) if j in known]
    every = [gap[i, j] for i in known for j in known if i != j]
    return 1 - np.mean(near) / np.mean(every)


def test_neighbors_match_a_sorted_list():
    for apart in ((), (KINDS,), (KINDS, NUMBERS)):
        near = nearest(POINTS.astype(np.float32), 5, apart)
        assert [{*row} for row in near.tolist()] == [slow_neighbors(point, 5, apart) for point in range(60)]


def test_too_few_neighbors():
    assert nearest(POINTS[:1]).shape == (1, 0) and nearest(POINTS[:3]).shape == (3, 2)
    near = nearest(POINTS[:4], 3, [np.array([0, 0, 0, 1])])
    assert [sorted(row) for row in near.tolist()] == [[-1, -1, 3]] * 3 + [[0, 1, 2]]
    assert strength(KINDS[:1], False, nearest(POINTS[:1])) == 0


@pytest.mark.parametrize("missing", [0, 9])
def test_numbers_are_compared_by_rank(missing):
    values, known = NUMBERS.copy(), range(missing, 60)
    values[:missing] = np.nan
    ranks = np.zeros(60)
    ranks[missing:] = rankdata(values[missing:])
    gap, circle = np.abs(ranks[:, None] - ranks), len(known)
    near = nearest(POINTS)
    assert strength(values, True, near) == pytest.approx(slow_strength(gap, known))
    around = np.minimum(gap, circle - gap)
    assert strength(values, True, near, circular=True) == pytest.approx(slow_strength(around, known))


@pytest.mark.parametrize("missing", [0, 9])
def test_categories_are_compared_by_whether_they_differ(missing):
    values = np.where(np.arange(60) < missing, -1, KINDS)
    gap = (values[:, None] != values).astype(float)
    assert strength(values, False, nearest(POINTS)) == pytest.approx(slow_strength(gap, range(missing, 60)))


def test_an_angle_is_near_across_zero():
    angles = np.array([1.0, 359.0, 90.0, 91.0, 180.0, 181.0, 270.0, 271.0])
    pairs = np.arange(8)[:, None] ^ 1
    assert strength(angles, True, pairs, circular=True) > strength(angles, True, pairs)


def test_values_that_do_not_differ_share_nothing():
    near = nearest(POINTS)
    assert strength(np.ones(60), True, near) == 0 and strength(np.ones(60, int), False, near) == 0


def test_differences_by_point_add_up():
    near = nearest(POINTS, 10, [KINDS])
    total, count, usual = differences(NUMBERS, True, near)
    assert (count == 10).all() and 1 - total.sum() / count.sum() / usual == strength(NUMBERS, True, near)
