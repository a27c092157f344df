"""Pages of one text without an atlas: what `head_view` and `model_view` hold, and where they open."""

import base64
import json
import re
import zlib

import numpy as np
import pytest

import headatlas as ha
from headatlas.errors import OptionError
from headatlas.models import Attention, Layer
from headatlas.web.api.endpoints import ENDPOINTS
from headatlas.web.server.static_files import BUILT
from headatlas.web.single import make, one_text

TEXT = "The cat's mat: </script> it slept."


@pytest.fixture(scope="module")
def attention():
    return ha.models.attention("packaged", TEXT)


def unpacked(contents, path):
    return zlib.decompress(base64.b64decode(contents.files[path]))


def held(contents, endpoint, **values):
    return json.loads(unpacked(contents, endpoint.path(**values)))


def weights(contents, layer):
    path = ENDPOINTS.layer_maps.path(example=0, layer=layer)
    return (np.frombuffer(unpacked(contents, path), "<u2") / 65535) ** 2


def test_a_page_holds_one_text_with_all_its_maps(attention):
    contents = ha.web.model_view(attention).contents
    assert contents.address == "#/examples/0?example=0&as=model" and contents.tabs == ["examples"]
    for layer, maps in enumerate(attention.maps):
        assert np.abs(weights(contents, layer) - maps.ravel()).max() < 2 / 65535
    example = held(contents, ENDPOINTS.example, example=0)
    assert [token["text"] for token in example["tokens"]] == attention.tokens and example["full"]
    assert [token["text"] for token in example["tokens"] if token["special"]] == ["[CLS]", "[SEP]"]
    assert len({token["word"] for token in example["tokens"]}) < len(example["tokens"])  # words of several tokens
    card = held(contents, ENDPOINTS.atlas)
    assert card["static"] and card["model"]["name"] == "all-MiniLM-L6-v2" and card["data"]["examples"] == 1
    assert len(held(contents, ENDPOINTS.heads)["heads"]) == 72
    assert held(contents, ENDPOINTS.examples)["n_tokens"] == [len(attention.tokens)]


@pytest.mark.parametrize(
    ("options", "heads"),
    [({}, [(0, head) for head in range(12)]), ({"layer": 3, "heads": [10, 2]}, [(3, 10), (3, 2)])],
)
def test_the_head_view_opens_on_the_heads_of_a_layer(attention, options, heads):
    address = ha.web.head_view(attention, **options).contents.address
    names = ",".join(f"{layer}.{head}" for layer, head in heads)
    assert address == f"#/examples/0?example=0&as=arcs&heads={names}"


def test_a_model_and_a_text_give_the_same_page(attention):
    by_name = ha.web.head_view("packaged", TEXT).contents
    loaded = ha.web.head_view(ha.models.load("packaged"), TEXT).contents
    assert by_name.files == loaded.files == ha.web.head_view(attention).contents.files


def test_pairs_and_models_of_several_kinds(small):
    contents = ha.web.model_view(small("T5").model, "The tide turns.", pair="It rang.").contents
    kinds = {layer["kind"] for layer in held(contents, ENDPOINTS.atlas)["model"]["layers"]}
    example = held(contents, ENDPOINTS.example, example=0)
    assert kinds == {"encoder", "decoder", "cross"} and example["target"] and example["tokens"]


def test_maps_from_elsewhere_need_only_their_tokens():
    layers = (Layer(0, "decoder", 1, 1, 8, True, "0"),)
    maps = [np.tril(np.full((1, 3, 3), 0.5, np.float32))]
    contents = ha.web.head_view(Attention(["a", "b", "c"], [], layers, maps)).contents
    assert [token["text"] for token in held(contents, ENDPOINTS.example, example=0)["tokens"]] == ["a", "b", "c"]
    assert contents.holds == "one text as a model reads it"
    assert np.allclose(weights(contents, 0), maps[0].ravel(), atol=2 / 65535)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layer": 6}, "layer 6: the layers are 0 to 5"),
        ({"heads": [12]}, "head 12: the heads of layer 0 are 0 to 11"),
        ({"heads": []}, "heads: give at least one, or leave it out"),
        ({"text": "Another one."}, "give a model to read another text"),
    ],
)
def test_mistakes_are_one_line(attention, options, message):
    with pytest.raises(OptionError, match=message):
        ha.web.head_view(attention, **options)
    with pytest.raises(OptionError, match="give a text after the model"):
        ha.web.model_view("packaged")


def test_maps_of_a_text_that_is_too_long_are_refused(attention, monkeypatch):
    full = one_text.contents(attention, one_text.MODEL_ADDRESS)
    monkeypatch.setattr(make, "EXACT", full.size - 1000)
    rounded = one_text.contents(attention, one_text.MODEL_ADDRESS)
    assert len(rounded.rounded) == 6 and rounded.size < full.size
    monkeypatch.setattr(make, "LARGEST", 5000)
    with pytest.raises(OptionError, match=rf"the maps of {len(attention.tokens)} tokens take more than the 0.005 MB"):
        one_text.contents(attention, one_text.MODEL_ADDRESS)


@pytest.mark.skipif(not (BUILT / "single" / "page.js").exists(), reason="the page was not built")
def test_the_text_stays_text(attention):
    page = ha.web.model_view(attention)
    block = re.search(r'id="headatlas-embedded">(.*?)</script>', page.html, re.S)[1]
    assert json.loads(block)["files"].keys() == page.contents.files.keys()
    assert repr(page).startswith("<SinglePage of one text as all-MiniLM-L6-v2 reads it: 0.")
