"""Pooled maps and statistics of every family equal slow float64 loops over the attention of an unmodified copy."""

import numpy as np
import pytest
import torch

import headatlas as ha
from conftest import TEXTS
from headatlas.data import Example
from headatlas.models.batch import image_batch, text_batch
from headatlas.models.capture import all_maps
from headatlas.models.encode import encode
from headatlas.stages.collect.stat_axis import statistics_of
from support import reference
from support.families import FAMILIES, PARTLY

RESOLUTION = 8
TEXT_FAMILIES = [name for name, family in FAMILIES.items() if family.reads != "images"]
IMAGE_FAMILIES = [name for name, family in FAMILIES.items() if family.reads == "images"]


def eager_maps(eager, inputs):
    with torch.inference_mode():
        return all_maps(eager, inputs)


def assert_close(values, slow, names, where):
    expected = np.array([slow[name] for name in names])
    close = np.isclose(values, expected, rtol=1e-5, atol=1e-5, equal_nan=True)
    assert close.all(), (where, [row for row in zip(names, values, expected, close, strict=True) if not row[-1]])


def rescaled(exact, layer):
    """Rows as shares of the attention that reaches tokens."""
    return exact / exact.sum(-1, keepdims=True) if layer.sink else exact


def assert_texts(model, eager, examples, path):
    """Collect, and compare every map with slow loops."""
    atlas = ha.collect.maps(model, examples, path, resolution=RESOLUTION)
    pooled, stats = atlas.read("pooled").astype(float), atlas.read("stats")
    encoded = [encode(model, example)[0] for example in examples]
    groups = [range(len(encoded))] if model.padding else [[number] for number in range(len(encoded))]
    for group in groups:
        batch = text_batch(model, [encoded[number] for number in group])
        maps = eager_maps(eager, batch.inputs)
        maps = maps[-len(model.layers) :]  # families of which only the later layers can be read
        for e, number in enumerate(group):
            for layer, weights in zip(model.layers, maps, strict=True):
                assert np.isnan(pooled[:, layer.index, layer.heads :]).all()
                n, m = batch.extent(e, layer.kind)
                for head in range(layer.heads):
                    exact = weights[e, head, :n, :m].double().numpy()
                    where = (number, layer.index, head)
                    assert_map(model, layer, encoded[number], exact, pooled[where], stats[where])


def assert_map(model, layer, example, weights, pooled, stats):
    names = statistics_of(model)
    specials = dict(zip([n for n in names.names if n.startswith("special:")], names.specials, strict=True))
    queries = example.source if layer.kind == "encoder" or example.target is None else example.target
    keys = example.target if layer.kind == "decoder" and example.target is not None else example.source
    exact = rescaled(weights, layer)
    assert np.abs(pooled - reference.pooled(exact, RESOLUTION)).max() < 2e-3
    slow = reference.text(
        exact, queries, keys, specials, names.separator, causal=layer.causal, allowed=(weights > 0).sum(-1)
    )  # fmt: skip
    assert_close(stats, slow, names.names, layer)


@pytest.mark.parametrize("name", TEXT_FAMILIES)
def test_texts(name, small, tmp_path):
    loaded = small(name)
    assert_texts(loaded.model, loaded.eager, TEXTS, tmp_path / "x.atlas")


def test_texts_of_a_family_that_padding_changes(load_small, tmp_path):
    loaded = load_small(PARTLY["ConvBERT"])
    assert not loaded.model.padding
    assert_texts(loaded.model, loaded.eager, [*TEXTS, *TEXTS], tmp_path / "x.atlas")


@pytest.mark.parametrize("name", ["minilm", "smollm2", "antiberty"])
def test_texts_of_real_models(name, load_real, tmp_path):
    model, eager, examples = load_real(name)
    assert_texts(model, eager, examples, tmp_path / "x.atlas")


@pytest.mark.parametrize("name", IMAGE_FAMILIES)
def test_images(name, small, tmp_path):
    loaded = small(name)
    pictures = [Example(str(number), image=path) for number, path in enumerate(loaded.pictures)]
    atlas = ha.collect.maps(loaded.model, pictures, tmp_path / "x.atlas", resolution=RESOLUTION)
    pooled, stats = atlas.read("pooled").astype(float), atlas.read("stats")
    names, grid = statistics_of(loaded.model).names, loaded.model.grid
    maps = eager_maps(loaded.eager, image_batch(loaded.model, loaded.pictures).inputs)
    for layer, weights in zip(loaded.model.layers, maps, strict=True):
        for e in range(len(pictures)):
            for head in range(layer.heads):
                where = (e, layer.index, head)
                exact = weights[e, head].double().numpy()
                assert np.abs(pooled[where] - reference.pooled(exact, RESOLUTION)).max() < 2e-3
                slow = reference.image(exact, grid.special, grid.rows, grid.columns)
                assert_close(stats[where], slow, names, (name, where))


def test_vectors_of_an_encoder_decoder_are_stored_with_their_tokens(small, tmp_path):
    model = small("BART").model
    pairs = [Example(str(i), a.text, b.text) for i, (a, b) in enumerate(zip(TEXTS, TEXTS[::-1], strict=True))]
    atlas = ha.collect.maps(model, pairs, tmp_path / "x.atlas", resolution=RESOLUTION)
    query, key, sampled = atlas.read("query"), atlas.read("key"), atlas.table("sampled").to_pydict()
    examples = atlas.table("examples").to_pydict()
    for number, offset in zip(sampled["example"], sampled["offset"], strict=True):
        n, m = examples["n_tokens"][number], examples["n_target"][number]
        vectors = ha.models.vectors(model, pairs[number])
        places = {"encoder": (0, 0), "decoder": (n, n), "cross": (n, 0)}
        sizes = {"encoder": (n, n), "decoder": (m, m), "cross": (m, n)}
        for layer in model.layers:
            for stored, expected, at, size in zip(
                (query, key), (vectors.queries, vectors.keys), places[layer.kind], sizes[layer.kind], strict=True
            ):
                rows = stored[offset + at : offset + at + size, layer.index, : layer.heads, : layer.width]
                assert np.allclose(rows, expected[layer.index].transpose(1, 0, 2), atol=1e-2)
                rest = np.delete(np.arange(offset, offset + n + m), np.arange(at, at + size))
                assert np.isnan(stored[rest, layer.index]).all()
