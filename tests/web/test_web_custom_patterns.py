"""Patterns and statistics of custom texts: those of the same text in the atlas, by the code of the stages."""

import numpy as np
import pytest

import headatlas as ha
from headatlas.web.api.endpoints import ENDPOINTS
from support import served
from support.nulls import TEXTS
from support.served import ask, error


@pytest.fixture(scope="module")
def client(null_atlas, packaged_model):
    return served.client(null_atlas, model=packaged_model)


def key_of(client, text):
    return client.post(f"/{ENDPOINTS.custom_text.path()}", json={"text": text}).json()["key"]


@pytest.mark.parametrize("clustering", ["pooled", "stats"])
def test_the_text_of_an_example_has_its_patterns(client, null_atlas, clustering):
    agree = []
    for number, example in enumerate(ha.data.load("sample", limit=TEXTS)):
        key = key_of(client, example.text)
        sent = ask(client, ENDPOINTS.custom_patterns, key=key, clustering=clustering).json()
        assert sent["note"] == "" and np.array(sent["far"]).shape == (6, 12)
        agree.append(np.array(sent["labels"]) == null_atlas.read("labels", number, clustering))
    assert np.mean(agree) > 0.998  # a map between two clusters may change with the size of a batch


def test_statistics_are_those_that_were_collected(client, null_atlas):
    text = next(iter(ha.data.load("sample", limit=1))).text
    sent = ask(client, ENDPOINTS.custom_statistics, key=key_of(client, text)).json()
    assert sent["names"] == list(null_atlas.array("stats").attrs["stats"])
    values = np.array(sent["values"], dtype=np.float64)
    np.testing.assert_allclose(values, null_atlas.read("stats", 0), rtol=1e-3, atol=1e-4)


def test_an_unusual_map_is_marked(client):
    shares = []
    for text in (next(iter(ha.data.load("sample", limit=1))).text, "a"):
        sent = ask(client, ENDPOINTS.custom_patterns, key=key_of(client, text), clustering="stats").json()
        shares.append(np.mean(sent["far"]))
    assert shares[0] < 0.2 < shares[1]


def test_clusterings_of_heads_and_encoders_that_are_not_stored(tmp_path, packaged_model):
    texts = ha.data.load("sample", limit=4)
    atlas = ha.collect.maps(packaged_model, texts, tmp_path / "x.atlas", resolution=8, qk_tokens=0)
    ha.features.image(atlas, Doubled())
    ha.cluster.kmeans(atlas, k=3)
    ha.cluster.kmeans(atlas, k=3, level="heads", name="heads")
    client = served.client(atlas, model=packaged_model)
    key = key_of(client, "A bell rang.")
    missing = ask(client, ENDPOINTS.custom_patterns, key=key, clustering="kmeans").json()
    assert missing["labels"] == [] and "doubled, is not stored in the atlas" in missing["note"]
    heads = ask(client, ENDPOINTS.custom_patterns, key=key, clustering="heads").json()
    assert np.array_equal(heads["labels"], atlas.read("labels", 0, "heads")) and heads["note"] == ""
    assert error(ask(client, ENDPOINTS.custom_patterns, key=key, clustering="no"), 404)
    assert error(ask(client, ENDPOINTS.custom_patterns, key="0" * 32, clustering="kmeans"), 404)


class Doubled:
    """An encoder that exists in this process only."""

    name, width = "doubled", 2

    def recipe(self):
        return {"encoder": "doubled"}

    def encode(self, pooled, stats):
        return np.nan_to_num(2 * stats[:, :2])
