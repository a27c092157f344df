"""The maps of all heads of a text: the full maps of a layer in one response, and the pooled maps of custom texts."""

import numpy as np
import pytest

import headatlas as ha
from conftest import TEXTS as MIXED
from headatlas.web.api.endpoints import ENDPOINTS
from support import served
from support.served import TEXTS, ask, attention, error

CLOSE = 2e-5


@pytest.fixture(scope="module")
def client(packaged_model):
    return served.client(served.real(), model=packaged_model)


def custom(client, text, pair=None):
    """A custom text as the server reads it."""
    return client.post(f"/{ENDPOINTS.custom_text.path()}", json={"text": text, "pair": pair}).json()


def test_all_maps_of_a_layer_come_from_one_pass(client, packaged_model, passes):
    for number, text in enumerate(TEXTS):
        exact = ha.models.attention(packaged_model, text)
        for layer in exact.layers:
            sent = attention(ask(client, ENDPOINTS.layer_maps, example=number, layer=layer.index))
            maps = np.stack([exact.map(layer.index, head) for head in range(layer.heads)])
            assert np.abs(sent.reshape(maps.shape) - maps).max() <= CLOSE
    assert len(passes) == 2 * len(TEXTS)  # one by the server for all layers, one by the test
    one = ask(client, ENDPOINTS.full_map, example=1, layer=3, head=7).content
    layer = ask(client, ENDPOINTS.layer_maps, example=1, layer=3).content
    assert layer[7 * len(one) : 8 * len(one)] == one and len(passes) == 2 * len(TEXTS)
    assert "no layer 6" in error(ask(client, ENDPOINTS.layer_maps, example=1, layer=6), 404)["message"]


def test_layers_of_an_encoder_and_a_decoder(small, tmp_path):
    model = small("T5").model
    client = served.client(ha.collect.maps(model, MIXED[:2], tmp_path / "t5.atlas", resolution=8), model=model)
    exact = ha.models.attention(model, MIXED[1])
    for layer in exact.layers:
        maps = np.stack([exact.map(layer.index, head) for head in range(layer.heads)])
        sent = attention(ask(client, ENDPOINTS.layer_maps, example=1, layer=layer.index))
        assert np.abs(sent.reshape(maps.shape) - maps).max() <= CLOSE


def test_a_custom_text_has_layers_and_the_pooled_maps_of_the_same_example(client, packaged_model):
    atlas = served.real()
    for number, text in enumerate(TEXTS):
        key = custom(client, text)["key"]
        same = [ask(client, ENDPOINTS.layer_maps, layer=2, **which) for which in ({"key": key}, {"example": number})]
        assert same[0].content == same[1].content
        pooled = attention(ask(client, ENDPOINTS.custom_pooled, key=key)).reshape(6, 12, 8, 8)
        assert np.abs(pooled - atlas.read("pooled", number).astype(np.float32)).max() <= 1e-3
    assert "forgotten" in error(ask(client, ENDPOINTS.custom_pooled, key="0" * 32), 404)["message"]


def test_layers_that_do_not_fit_the_cache_are_computed_one_by_one(packaged_model, monkeypatch, passes):
    monkeypatch.setattr("headatlas.web.compute.runner.MAP_BYTES", 1000)
    client = served.client(served.real(), model=packaged_model)
    exact = ha.models.attention(packaged_model, TEXTS[1])
    before = len(passes)
    for layer in (1, 1, 4):
        sent = attention(ask(client, ENDPOINTS.layer_maps, example=1, layer=layer)).reshape(12, -1)
        assert np.abs(sent[5] - exact.map(layer, 5).ravel()).max() <= CLOSE
    assert len(passes) - before == 2
