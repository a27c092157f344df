"""Surface, distances and randomness of heads: constructed maps with known answers, real heads by slow code."""

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

import headatlas as ha
from headatlas.errors import DataError
from headatlas.models.shuffle import shuffled
from headatlas.numeric.jensen_shannon import divergence_sums
from headatlas.stages.probe.pairs import multidimensional_scaling, same_layer, square
from headatlas.stages.probe.source import drawn_examples

TEXTS = [example.text for example in ha.data.load("sample", limit=24)]


@pytest.fixture(scope="module")
def atlas(tmp_path_factory):
    return ha.collect.maps("packaged", TEXTS, tmp_path_factory.mktemp("probe") / "x.atlas", resolution=8, qk_tokens=0)


def rows_of(table, layer, head):
    frame = table.to_pandas()
    return frame[(frame.layer == layer) & (frame["head"] == head)].set_index("measure")


def random_maps(heads, queries, keys, causal=False, sharpness=3.0, seed=0):
    scores = np.random.default_rng(seed).normal(size=(heads, queries, keys)) * sharpness
    if causal:
        scores[:, *np.triu_indices(keys, 1)] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("sharpness", [0.0, 1.0, 4.0, 30.0])
@pytest.mark.parametrize(("queries", "keys", "causal"), [(1, 1, False), (7, 7, True), (33, 33, False), (5, 130, False)])
def test_divergences_of_all_pairs_by_a_slow_loop(queries, keys, causal, sharpness):
    maps = random_maps(5, queries, keys, causal, sharpness)
    sums, exact = divergence_sums(maps, causal=causal), maps.astype(float)
    assert (sums == sums.T).all()
    for first in range(5):
        for second in range(5):
            slow = sum(jensenshannon(*rows) ** 2 for rows in zip(exact[first], exact[second], strict=True) if keys > 1)
            assert sums[first, second] / queries == pytest.approx(np.nan_to_num(slow) / queries, abs=2e-6)


def test_distances_of_real_heads(atlas):
    table = ha.probe.distances(atlas, examples=3).to_pandas()
    numbers = drawn_examples(atlas, 3, 0)
    total = tokens = 0
    for number in numbers:
        attention = ha.models.attention("packaged", TEXTS[number])
        first, second = attention.map(0, 2).astype(float), attention.map(3, 7).astype(float)
        total += sum(jensenshannon(p, q) ** 2 for p, q in zip(first, second, strict=True))
        tokens += len(first)
    pair = (table.layer == 0) & (table["head"] == 2) & (table.other_layer == 3) & (table.other_head == 7)
    assert table[pair]["distance"].item() == pytest.approx(total / tokens, abs=1e-5)
    placed, merges = atlas.table("probe_distance_map").to_pandas(), atlas.table("probe_distance_tree").to_pandas()
    assert sorted(placed["order"]) == list(range(72)) and len(merges) == 71 and merges["heads"].iloc[-1] == 72
    assert atlas.facts("probe", "distances")["same_layer"]["encoder"]["p"] <= 1


def test_scaling_finds_points_of_a_plane():
    points = np.random.default_rng(1).normal(size=(30, 2))
    distances = np.linalg.norm(points[:, None] - points, axis=-1)
    placed = multidimensional_scaling(distances, 0)
    assert np.linalg.norm(placed[:, None] - placed, axis=-1) == pytest.approx(distances, abs=0.02)


def test_heads_of_one_layer_that_are_alike_are_found():
    rng = np.random.default_rng(0)
    layer = np.repeat(np.arange(4), 5)
    points = layer[:, None] * 3.0 + rng.normal(size=(20, 3))
    distances = np.linalg.norm(points[:, None] - points, axis=-1)[np.tril_indices(20, -1)]
    by_example = distances + rng.normal(size=(30, 190)) * 0.01
    found = same_layer(by_example, np.arange(30), layer, 0)
    assert found["p"] == 0.001 and found["low"] < found["difference"] < found["high"]
    assert found["difference"] == pytest.approx(found["between"] - found["within"], abs=1e-5)
    assert square(distances, 20)[3, 1] == pytest.approx(np.linalg.norm(points[3] - points[1]))


def test_p_of_heads_of_one_layer_is_uniform_without_an_effect():
    layer, ps = np.repeat(np.arange(4), 4), []
    for seed in range(60):
        points = np.random.default_rng(seed).normal(size=(16, 3))
        distances = np.linalg.norm(points[:, None] - points, axis=-1)[np.tril_indices(16, -1)]
        ps.append(same_layer(distances[None], np.zeros(1, int), layer, seed)["p"])
    assert 0.3 < np.mean(ps) < 0.7 and np.mean(np.array(ps) < 0.2) < 0.4


def test_surface_is_the_mean_of_the_statistics(atlas):
    table = ha.probe.surface(atlas, examples=4)
    stats = atlas.stats(layers=2)
    rows = rows_of(table, 2, 9)
    for measure in ("previous", "special:[SEP]", "entropy_relative"):
        values = stats[stats["head"] == 9][measure]
        assert rows["mean"][measure] == pytest.approx(values.mean(), abs=1e-6)
        half = 2.0687 * values.std(ddof=1) / np.sqrt(24)  # Student's t with 23 degrees of freedom
        assert rows["high"][measure] - rows["mean"][measure] == pytest.approx(half, rel=1e-3)
    expected = []
    for number in drawn_examples(atlas, 4, 0):
        row = ha.models.attention("packaged", TEXTS[number]).map(2, 9)[0].astype(float)
        expected.append(-(row * np.log(row)).sum() / np.log(len(row)))
    assert rows["mean"]["first_row_entropy"] == pytest.approx(np.mean(expected), abs=1e-5)
    assert rows["texts"]["previous"] == 24 and rows["texts"]["first_row_entropy"] == 4


def test_randomness_of_a_real_head_by_slow_code(atlas):
    table = ha.probe.randomness(atlas, examples=2)
    model = ha.models.load("packaged")
    even, by_order = [], []
    for number in drawn_examples(atlas, 2, 0):
        text = ha.models.attention(model, TEXTS[number])
        mixed = shuffled(text.encoded, 0, number)
        batch = ha.models.batch.text_batch(model, [mixed])
        record = ha.models.capture.Record()
        ha.models.capture.run(model, batch.inputs, record)
        pairs = zip(text.map(1, 3).astype(float), record.maps[1][0, 3].numpy().astype(float), strict=True)
        by_order.append(np.mean([jensenshannon(*pair, base=2) ** 2 for pair in pairs]))
        flat = np.full(len(text.tokens), 1 / len(text.tokens))
        even.append(np.mean([jensenshannon(row.astype(float), flat, base=2) ** 2 for row in text.map(1, 3)]))
    rows = rows_of(table, 1, 3)
    assert rows["mean"]["from_even"] == pytest.approx(np.mean(even), abs=1e-5)
    assert rows["mean"]["by_order"] == pytest.approx(np.mean(by_order), abs=1e-5)
    assert rows_of(table, 0, 2)["mean"]["by_order"] < 0.2 < rows["mean"]["by_order"]  # L0·H2: position alone


def test_images_cannot_be_shuffled(images):
    with pytest.raises(DataError, match="has images"):
        ha.probe.randomness(images)
    assert ha.probe.surface(images, examples=2).num_rows
