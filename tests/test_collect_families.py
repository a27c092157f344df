"""Pooled maps and statistics of every family equal slow float64 loops over an untouched copy's own attention."""

import copy

import numpy as np
import pytest
import torch
from PIL import Image

import headatlas as ha
import reference
from conftest import byte_tokenizer, word_tokenizer
from families import FAMILIES
from headatlas.collect.statistics import statistics_of
from headatlas.data import Example
from headatlas.models.batch import image_batch, text_batch
from headatlas.models.capture import OUTPUTS, flags
from headatlas.models.encode import encode

TEXTS = ["The sea rose, and the sea fell.", "Bread.", "She said she knew that he knew. They knew, too, of the sea."]
RESOLUTION = 8


def eager_maps(network, model, inputs):
    """Maps of each layer, in the order of the model's layers, from a copy that was never redirected."""
    network.set_attn_implementation("eager")
    towers = {"text": getattr(network, "text_model", None), "image": getattr(network, "vision_model", None)}
    tower = towers[model.modality] if all(towers.values()) else network
    with torch.inference_mode():
        output = tower(**inputs, **flags(tower), output_attentions=True)
    return [weights for name in OUTPUTS for weights in (output.get(name) or ()) if weights is not None]


def assert_close(found, slow, names, where):
    expected = np.array([slow[name] for name in names])
    close = np.isclose(found, expected, rtol=1e-5, atol=1e-5, equal_nan=True)
    assert close.all(), (where, [row for row in zip(names, found, expected, close, strict=True) if not row[-1]])


def rescaled(exact, layer):
    """Rows as shares of what reaches tokens."""
    return exact / exact.sum(-1, keepdims=True) if layer.sink else exact


TEXT_FAMILIES = [name for name, family in FAMILIES.items() if family.reads != "images"]
IMAGE_FAMILIES = [name for name, family in FAMILIES.items() if family.reads == "images"]


@pytest.mark.parametrize("name", TEXT_FAMILIES)
def test_texts(name, tmp_path):
    family = FAMILIES[name]
    network = family.network()
    untouched = copy.deepcopy(network)
    tokenizer = word_tokenizer() if family.reads == "words" else byte_tokenizer()
    model = ha.models.load(network, tokenizer=tokenizer, modality="text")
    atlas = ha.collect.maps(model, TEXTS, tmp_path / "x.atlas", resolution=RESOLUTION)
    pooled, stats = atlas.read("pooled").astype(float), atlas.read("stats")
    names = statistics_of(model)
    specials = dict(zip([n for n in names.names if n.startswith("special:")], names.specials, strict=True))
    encoded = [encode(model, Example("x", text))[0] for text in TEXTS]
    batch = text_batch(model, encoded)
    maps = eager_maps(untouched, model, batch.inputs)
    assert len(maps) == len(model.layers)
    for layer, weights in zip(model.layers, maps, strict=True):
        assert np.isnan(pooled[:, layer.index, layer.heads :]).all()
        for e, one in enumerate(encoded):
            n, m = batch.extent(e, layer.kind)
            queries = one.source if layer.kind == "encoder" or one.target is None else one.target
            keys = one.target if layer.kind == "decoder" and one.target is not None else one.source
            for head in range(layer.heads):
                own = weights[e, head, :n, :m].double().numpy()
                exact = rescaled(own, layer)
                assert np.abs(pooled[e, layer.index, head] - reference.pooled(exact, RESOLUTION)).max() < 2e-3
                slow = reference.text(
                    exact, queries.ids, keys.ids, keys.text, specials, names.separator,
                    causal=layer.causal, cross=layer.kind == "cross", allowed=(own > 0).sum(-1),
                )  # fmt: skip
                assert_close(stats[e, layer.index, head], slow, names.names, (name, e, layer.index, head))


@pytest.mark.parametrize("name", IMAGE_FAMILIES)
def test_images(name, tmp_path):
    network = FAMILIES[name].network()
    untouched = copy.deepcopy(network)
    model = ha.models.load(network, modality="image")
    folder = tmp_path / "photos" / "noise"
    folder.mkdir(parents=True)
    dice = np.random.default_rng(0)
    for number in range(3):
        Image.fromarray(dice.integers(0, 255, (40, 48, 3), np.uint8)).save(folder / f"{number}.png")
    atlas = ha.collect.maps(model, f"images:{tmp_path / 'photos'}", tmp_path / "x.atlas", resolution=RESOLUTION)
    pooled, stats = atlas.read("pooled").astype(float), atlas.read("stats")
    names = statistics_of(model).names
    paths = atlas.table("examples")["image"].to_pylist()
    maps = eager_maps(untouched, model, image_batch(model, paths).inputs)
    grid = model.grid
    for layer, weights in zip(model.layers, maps, strict=True):
        for e in range(3):
            for head in range(layer.heads):
                exact = weights[e, head].double().numpy()
                assert np.abs(pooled[e, layer.index, head] - reference.pooled(exact, RESOLUTION)).max() < 2e-3
                slow = reference.image(exact, grid.special, grid.rows, grid.columns)
                assert_close(stats[e, layer.index, head], slow, names, (name, e, layer.index, head))


def test_vectors_of_an_encoder_decoder_lie_with_their_own_tokens(tmp_path):
    model = ha.models.load(FAMILIES["BART"].network(), tokenizer=word_tokenizer())
    pairs = [Example(str(i), text, pair) for i, (text, pair) in enumerate(zip(TEXTS, TEXTS[::-1], strict=True))]
    atlas = ha.collect.maps(model, pairs, tmp_path / "x.atlas", resolution=RESOLUTION)
    query, key, sampled = atlas.read("query"), atlas.read("key"), atlas.table("sampled").to_pydict()
    examples = atlas.table("examples").to_pydict()
    for number, offset in zip(sampled["example"], sampled["offset"], strict=True):
        n, m = examples["n_tokens"][number], examples["n_target"][number]
        vectors = ha.models.vectors(model, pairs[number])
        places = {"encoder": (0, 0), "decoder": (n, n), "cross": (n, 0)}
        sizes = {"encoder": (n, n), "decoder": (m, m), "cross": (m, n)}
        for layer in model.layers:
            for kept, own, at, size in zip(
                (query, key), (vectors.queries, vectors.keys), places[layer.kind], sizes[layer.kind], strict=True
            ):
                rows = kept[offset + at : offset + at + size, layer.index, : layer.heads, : layer.width]
                assert np.allclose(rows, own[layer.index].transpose(1, 0, 2), atol=1e-2)
                rest = np.delete(np.arange(offset, offset + n + m), np.arange(at, at + size))
                assert np.isnan(kept[rest, layer.index]).all()
