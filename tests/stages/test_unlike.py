"""Texts that a head treats unlike others: those farthest from the mean of its vectors, by a slow loop."""

import numpy as np
import pytest

from headatlas import correlate
from headatlas.stages.correlate import vectors
from headatlas.stages.correlate.unlike import LARGEST, reach_of
from support.planted import clustered, drawn, plant_features, planted

ODD = 17  # an example on which L0·H1 does something else


def patterns_with_an_odd_text(examples=60):
    """Each head has one pattern, but L0·H1 another one on one text."""
    patterns = np.tile(np.array([[0, 1, 2], [3, 4, 0]]), (examples, 1, 1))
    patterns[ODD, 0, 1] = 4
    return patterns


@pytest.fixture(scope="module")
def atlas(tmp_path_factory):
    patterns = patterns_with_an_odd_text()
    atlas = planted(tmp_path_factory.mktemp("unlike") / "u.atlas", patterns, missing=[(1, 2)])
    clustered(atlas, patterns, missing=[(1, 2)])
    correlate.clusters(atlas, permutations=9)
    return atlas


def test_the_array_equals_a_slow_loop(atlas):
    unlike, features = atlas.read("unlike"), atlas.read("features").astype(np.float64)
    assert unlike.shape == (60, 2, 3) and np.isnan(unlike[:, 1, 2]).all()
    for layer, head in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]:
        x = features[:, layer, head]
        distance = np.linalg.norm(x - x.mean(0), axis=1)
        order = np.sort(distance)
        np.testing.assert_allclose(unlike[:, layer, head], distance / ((order[56] + order[57]) / 2), rtol=1e-5)
        assert (unlike[:, layer, head] > 1).sum() == 3  # 5% of 60


def test_an_odd_text_is_by_far_the_most_unlike(atlas):
    unlike = atlas.read("unlike")[:, 0, 1]
    assert unlike.argmax() == ODD and unlike[ODD] > 3 * np.delete(unlike, ODD).max()


@pytest.mark.parametrize(("count", "outside"), [(1, 0), (19, 0), (20, 1), (39, 1), (40, 2), (100, 5)])
def test_no_more_than_the_rare_share_is_beyond_the_reach(count, outside):
    distance = np.random.default_rng(count).random(count)
    assert (distance > reach_of(distance)).sum() == outside


def test_one_text_and_equal_texts_are_like_others():
    for examples, name in ((1, "one"), (30, "equal")):
        patterns = np.zeros((examples, 1, 2), int)
        atlas = planted(f"memory://unlike-{name}.atlas", patterns)
        plant_features(atlas, "same", np.full((examples, 1, 2, 6), 0.3), 16)
        clustered(atlas, patterns)
        correlate.clusters(atlas, permutations=9)
        assert (atlas.read("unlike") == 0).all()
        assert {value["unlike"] for row in atlas.table("changes").to_pylist() for value in row["values"]} <= {0}


def test_one_text_that_differs_from_many_equal_ones_is_bounded():
    features = np.full((40, 1, 1, 6), 0.25)
    features[5] = 0.5
    atlas = planted("memory://unlike-almost.atlas", np.zeros((40, 1, 1), int))
    plant_features(atlas, "almost", features, 16)
    clustered(atlas, np.zeros((40, 1, 1), int))
    correlate.clusters(atlas, permutations=9)
    unlike = atlas.read("unlike")[:, 0, 0]
    assert unlike.argmax() == 5 and 1 < unlike[5] <= LARGEST and (np.delete(unlike, 5) <= 1).all()


def test_a_sample_gives_the_reach_and_all_examples_get_a_value(tmp_path, monkeypatch):
    patterns = drawn(np.ones((1, 2, 5)), 90)
    atlas = planted(tmp_path / "sampled.atlas", patterns)
    clustered(atlas, patterns)
    monkeypatch.setattr(vectors, "EXAMPLES", 40)
    correlate.clusters(atlas, permutations=9)
    chosen = vectors.sampled_examples(90, 1, 0)
    unlike = atlas.read("unlike")
    assert len(chosen) == 40 and np.isfinite(unlike).all()
    assert ((unlike[chosen] > 1).sum(0) == 2).all()


def test_values_count_the_texts_that_a_head_treats_unlike_others(tmp_path):
    patterns = patterns_with_an_odd_text()
    kind = np.where(np.arange(60) % 3 == ODD % 3, "odd", "even")
    atlas = planted(tmp_path / "values.atlas", patterns, columns={"kind": kind, "gap": [None, *range(1, 60)]})
    clustered(atlas, patterns)
    correlate.clusters(atlas, columns=["kind", "gap"], permutations=9)
    unlike = atlas.read("unlike") > 1
    for row in atlas.table("changes").to_pylist():
        if row["column"] == "kind":
            here = unlike[:, row["layer"], row["head"]]
            assert {value["value"]: (value["n"], value["unlike"]) for value in row["values"]} == {
                name: (int((kind == name).sum()), int(here[kind == name].sum())) for name in ("odd", "even")
            }
    values = atlas.table("values").to_pydict()
    assert values["kind"] == kind.tolist() and values["gap"][0] is None and len(set(values["gap"])) == 5
