"""The default encoder: features computed one by one from the statistics, and what it must not see."""

import numpy as np
import pytest

import headatlas as ha
from headatlas.stages.features.encoders import DEFAULT
from headatlas.stages.features.fitted import load_encoder
from headatlas.stages.features.profile import coarse
from support import reference, small_maps

TEXTS = [
    "The cat sat on the mat, and the cat saw the dog. The dog ran.",
    "red green blue red green blue red green blue",
    "Who rang?",
]
MASSES = [
    "offset-4", "offset-3", "offset-2", "previous", "self", "next", "offset+2", "offset+3", "offset+4", "first",
    "rest_to_sep", "back_33", "back_9_32", "back_5_8", "ahead_5_8", "ahead_9_32", "ahead_33",
]  # fmt: skip
BEYOND = [f"{name}_beyond" for name in ("same_token", "induction", "same_sentence", "punctuation")]


@pytest.fixture(scope="module")
def atlas():
    atlas = ha.collect.maps("packaged", TEXTS, "memory://profile.atlas")
    ha.features.image(atlas)
    return atlas


def test_vectors_are_roots_of_masses_content_evenness_and_a_coarse_map(atlas):
    names = list(atlas.array("stats").attrs["stats"])
    vectors, stats, pooled = atlas.read("features"), atlas.read("stats"), atlas.read("pooled")
    for place in [(0, 0, 2), (1, 3, 5), (2, 5, 11)]:
        value = {
            name: 0.0 if np.isnan(number) else float(number) for name, number in zip(names, stats[place], strict=True)
        }
        expected = [value[name] ** 0.5 for name in MASSES]
        expected += [2 * np.sign(value[name]) * abs(value[name]) ** 0.5 for name in BEYOND]
        expected += [2 * max(0.0, 1 - value[name]) ** 0.5 for name in ("by_distance", "by_key")]
        expected += [value["entropy_relative"], value["largest"]]
        cells = np.sqrt(reference.pooled(pooled[place].astype(np.float64), 8) / 8)
        vector = vectors[place].astype(np.float64)
        np.testing.assert_allclose(np.sort(vector[:25]), np.sort(expected), atol=2e-3)
        np.testing.assert_allclose(vector[25:], cells.ravel(), atol=1e-3)
    assert atlas.latest("features") == DEFAULT == "profile"


def test_no_head_and_no_other_map_enters_a_vector(atlas):
    encoder = load_encoder(atlas)
    pooled, stats = atlas.read("pooled").reshape(-1, 32, 32), atlas.read("stats").reshape(-1, len(encoder.statistics))
    alone = encoder.encode(pooled[7:8], stats[7:8])
    np.testing.assert_array_equal(encoder.encode(pooled, stats)[7:8], alone)
    assert not getattr(encoder, "knows_heads", False)
    assert atlas.facts("features", "profile")["knows_heads"] is False


def test_squares_of_a_coarse_map_sum_to_one():
    maps = np.random.default_rng(0).random((3, 12, 12))
    maps /= maps.sum(-1, keepdims=True)
    np.testing.assert_allclose((coarse(maps) ** 2).sum(1), 1, rtol=1e-5)


def test_a_head_that_attends_by_distance_has_no_content():
    """Equal tokens, sentences and punctuation do not move it; their plain masses do."""
    tokens = small_maps.tokens(np.random.default_rng(3), 40)
    distance = np.abs(np.subtract.outer(np.arange(40), np.arange(40)))
    scores = np.stack([np.zeros((40, 40)), -distance / 10]).astype(np.float32)
    names = small_maps.text_axis().names
    even, near = (dict(zip(names, row, strict=True)) for row in small_maps.text_statistics(scores, tokens, tokens)[2])
    assert even["same_token"] > 0.08 and near["same_token"] > 0.08
    assert max(abs(even[name]) for name in BEYOND) < 1e-6 and even["by_distance"] == pytest.approx(1, abs=1e-5)
    assert max(abs(near[name]) for name in BEYOND) < 0.01 and near["by_distance"] > 0.95


def test_the_old_name_says_the_new_one(atlas):
    with pytest.raises(ha.errors.OptionError, match="called heads now"):
        ha.features.image(atlas, "attention-ssl")
