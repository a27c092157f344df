"""Queries, keys and mean attention on the page: the numbers of the model itself, within what float16 can hold."""

from pathlib import Path

import numpy as np
import pytest

import headatlas as ha
from conftest import TEXTS as MIXED
from headatlas.numeric.estimates import mean_over_sources
from headatlas.web.api.endpoints import ENDPOINTS
from headatlas.web.views.places import POSITIONS, REACH
from support import served
from support.served import TEXTS, ask, error, words

CLOSE = 4e-3  # of a weight: queries and keys have 11 bits
FAMILIES = ["BERT", "GPT-2", "Llama", "BART", "ViT"]


@pytest.fixture(scope="module")
def packaged():
    return ha.models.load("packaged")


@pytest.fixture(scope="module")
def client():
    return served.client(served.real())


@pytest.fixture(scope="module")
def collected(small, tmp_path_factory):
    """The atlas of a small network, and a client of its server."""

    def make(name):
        network, path = small(name), tmp_path_factory.mktemp("views") / "small.atlas"
        data = [*network.pictures] if network.model.grid else MIXED
        source = f"images:{Path(data[0]).parent}" if network.model.grid else data
        atlas = ha.collect.maps(network.model, source, path, resolution=8)
        return network, atlas, served.client(atlas, model=network.model)

    return make


def vectors(client, example, layer, card):
    """Queries, keys and norms of values as the page reads them."""
    facts = card["model"]["layers"][layer]
    values = words(ask(client, ENDPOINTS.layer_vectors, example=example, layer=layer)).view("<f2").astype(float)
    tokens = client.get(f"/{ENDPOINTS.example.path(example=example)}").json()
    source, target = len(tokens["tokens"]), len(tokens["target"])
    grid = card["model"]["grid"]
    source = source or len(grid["special"]) + grid["rows"] * grid["columns"]
    output = target or source
    queries = source if facts["kind"] == "encoder" else output
    keys = output if facts["kind"] == "decoder" else source
    ends = np.cumsum([queries * facts["heads"] * facts["width"], keys * facts["key_heads"] * facts["width"]])
    query, key, norm = np.split(values, ends)
    return (
        query.reshape(queries, facts["heads"], -1),
        key.reshape(keys, facts["key_heads"], -1),
        norm.reshape(keys, facts["key_heads"]),
    )


def softmax(scores):
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def assert_attention(client, card, example, exact):
    """The softmax of the products equals the model's own maps, head by head."""
    for facts, maps in zip(card["model"]["layers"], exact.maps, strict=True):
        query, key, _ = vectors(client, example, facts["index"], card)
        for head in range(facts["heads"]):
            shared = head // (facts["heads"] // facts["key_heads"])
            products = query[:, None, head] * key[None, :, shared] * facts["scaling"]  # (query, key, feature)
            scores = products.sum(-1)
            if facts["causal"]:
                scores = np.where(np.tri(*scores.shape, dtype=bool), scores, -np.inf)
            assert not facts["note"]
            assert np.abs(softmax(scores) - maps[head]).max() < CLOSE, (facts["index"], head)


def test_softmax_of_the_products_is_the_attention_of_the_model(client, packaged):
    card = ask(client, ENDPOINTS.atlas).json()
    for example, text in enumerate(TEXTS):
        assert ask(client, ENDPOINTS.example, example=example).json()["vectors"]
        assert_attention(client, card, example, ha.models.attention(packaged, text))


@pytest.mark.parametrize("family", FAMILIES)
def test_products_of_every_kind_of_layer(collected, family):
    network, _, client = collected(family)
    card = ask(client, ENDPOINTS.atlas).json()
    inputs = network.pictures if network.model.grid else MIXED
    for example, given in enumerate(inputs):
        assert_attention(client, card, example, ha.models.attention(network.model, given))


def test_norms_of_values_are_those_of_the_model(client, packaged):
    card = ask(client, ENDPOINTS.atlas).json()
    exact = ha.models.vectors(packaged, TEXTS[0])
    for layer in range(6):
        norms = vectors(client, 0, layer, card)[2]  # (key, head)
        assert np.abs(norms.T / np.linalg.norm(exact.values[layer], axis=-1) - 1).max() < 2e-3


@pytest.mark.parametrize(("family", "part"), [("T5", "position bias"), ("GPT-OSS", "sink")])
def test_layers_whose_scores_are_not_products_say_so(collected, family, part):
    client = collected(family)[2]
    layers = ask(client, ENDPOINTS.atlas).json()["model"]["layers"]
    assert part in layers[0]["note"]
    average = ask(client, ENDPOINTS.average, layer=0, head=0).json()
    assert average["method"] == "statistics" and part in average["note"]


def test_an_example_outside_the_sample_has_no_vectors(tmp_path):
    atlas = ha.collect.maps("packaged", TEXTS, tmp_path / "few.atlas", resolution=8, qk_tokens=20)
    client = served.client(atlas)
    stored = set(atlas.table("sampled")["example"].to_pylist())
    assert 0 < len(stored) < len(TEXTS)
    for example in range(len(TEXTS)):
        has = ask(client, ENDPOINTS.example, example=example).json()["vectors"]
        assert has == (example in stored)
        if not has:
            answer = ask(client, ENDPOINTS.layer_vectors, example=example, layer=0)
            assert "not stored" in error(answer, 404)["message"]
    assert ask(client, ENDPOINTS.average, layer=0, head=0).json()["examples"] == len(stored)
    error(ask(client, ENDPOINTS.layer_vectors, example=99, layer=0), 404)
    error(ask(client, ENDPOINTS.average, layer=0, head=99), 404)


def test_an_atlas_without_vectors_has_averages_of_statistics(tmp_path):
    atlas = ha.collect.maps("packaged", TEXTS, tmp_path / "none.atlas", resolution=8, qk_tokens=0)
    client = served.client(atlas)
    average = ask(client, ENDPOINTS.average, layer=0, head=2).json()
    assert average["method"] == "statistics" and "not stored" in average["note"] and average["positions"] is None
    assert average["offsets"]["first_column"] == -4 and average["offsets"]["columns"] == 9
    previous = atlas.table("heads").to_pandas().set_index(["layer", "head"]).loc[(0, 2), "previous"]
    assert average["offsets"]["mean"][3] == pytest.approx(previous, rel=1e-4)


def slow_offsets(maps, causal):
    """The mean over texts of the mean weight at each distance, by loops."""
    means = []
    for distance in range(-REACH, 1 if causal else REACH + 1):
        texts = []
        for weights in maps:
            found = [weights[i, i + distance] for i in range(len(weights)) if 0 <= i + distance < weights.shape[1]]
            texts += [np.mean(found)] if found else []
        means.append(np.mean(texts) if texts else None)
    return means


def slow_positions(maps, causal):
    """The mean over texts of the mean weight on each key, over the queries that may attend to it."""
    means = []
    for key in range(POSITIONS):
        texts = []
        for weights in maps:
            if key < weights.shape[1]:
                texts.append(np.mean([weights[i, key] for i in range(len(weights)) if i >= key or not causal]))
        means.append(np.mean(texts) if texts else None)
    return means


def close(numbers, exact):
    assert [number is None for number in numbers] == [number is None for number in exact]
    pairs = [(number, other) for number, other in zip(numbers, exact, strict=True) if number is not None]
    assert np.abs(np.subtract(*np.transpose(pairs))).max() < CLOSE


@pytest.mark.parametrize("family", ["BERT", "Llama"])
def test_averages_match_slow_loops_over_the_maps_of_the_model(collected, family):
    network, _, client = collected(family)
    exact = [ha.models.attention(network.model, text) for text in MIXED]
    for layer in network.model.layers:
        average = ask(client, ENDPOINTS.average, layer=layer.index, head=1).json()
        maps = [attention.maps[layer.index][1] for attention in exact]
        assert average["method"] == "maps" and average["examples"] == average["sources"] == len(MIXED)
        close(average["offsets"]["mean"], slow_offsets(maps, layer.causal))
        close(average["positions"]["mean"], slow_positions(maps, layer.causal))
        even = [np.tri(*shape) if layer.causal else np.ones(shape) for shape in (weights.shape for weights in maps)]
        even = [weights / weights.sum(1, keepdims=True) for weights in even]
        close(average["offsets"]["even"], slow_offsets(even, layer.causal))
        assert set(average["offsets"]["low"]) == {None}, "few texts have no intervals"


def test_a_window_is_noticed_and_statistics_are_shown_instead(collected):
    _, atlas, client = collected("Mistral")
    average = ask(client, ENDPOINTS.average, layer=0, head=0).json()
    assert average["method"] == "statistics" and "window" in average["note"]
    previous = atlas.table("heads").to_pandas().set_index(["layer", "head"]).loc[(0, 0), "previous"]
    assert average["offsets"]["mean"][-average["offsets"]["first_column"] - 1] == pytest.approx(previous, rel=1e-4)


def test_cross_attention_has_positions_but_no_distances(collected):
    network, _, client = collected("BART")
    cross = next(layer.index for layer in network.model.layers if layer.kind == "cross")
    average = ask(client, ENDPOINTS.average, layer=cross, head=0).json()
    assert average["offsets"] is None
    maps = [ha.models.attention(network.model, text).maps[cross][0] for text in MIXED]
    close(average["positions"]["mean"], slow_positions(maps, False))


def test_averages_of_images_are_by_row_and_column(collected):
    network, _, client = collected("ViT")
    grid, layer, head = network.model.grid, 1, 2
    special = len(grid.special)
    maps = [ha.models.attention(network.model, picture).maps[layer][head] for picture in network.pictures]
    average = ask(client, ENDPOINTS.average, layer=layer, head=head).json()
    offsets = average["offsets"]
    assert (offsets["rows"], offsets["first_row"]) == (2 * grid.rows - 1, 1 - grid.rows)
    for place, mean in enumerate(offsets["mean"]):
        down, across = place // offsets["columns"] + 1 - grid.rows, place % offsets["columns"] + 1 - grid.columns
        images = []
        for weights in maps:
            found = [
                weights[special + row * grid.columns + column, special + (row + down) * grid.columns + column + across]
                for row in range(grid.rows)
                for column in range(grid.columns)
                if 0 <= row + down < grid.rows and 0 <= column + across < grid.columns
            ]
            images.append(np.mean(found))
        assert mean == pytest.approx(np.mean(images), abs=CLOSE)
    received = np.mean([weights.mean(0) for weights in maps], 0)
    assert np.abs(np.array(average["special"]["mean"] + average["positions"]["mean"]) - received).max() < CLOSE


def test_intervals_count_each_source_once():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(60, 3))
    values[:, 2] = np.nan
    values[5, 1] = np.nan
    estimates = mean_over_sources(np.repeat(values, 2, 0), np.repeat(np.arange(60), 2), 20)
    plain = mean_over_sources(values, np.arange(60), 20)
    assert estimates.sources.tolist() == [60, 59, 0] and np.isnan(estimates.mean[2])
    assert estimates.low[:2] == pytest.approx(plain.low[:2])
    from scipy.stats import t

    exact = t.interval(0.95, 59, values[:, 0].mean(), values[:, 0].std(ddof=1) / 60**0.5)
    assert (estimates.low[0], estimates.high[0]) == pytest.approx(exact)
    assert np.isnan(mean_over_sources(values[:19], np.arange(19), 20).low).all()
