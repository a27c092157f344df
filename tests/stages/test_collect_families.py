"""Pooled maps and statistics of every family equal slow float64 loops over an untouched copy's own attention."""

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


def own_maps(own, inputs):
    with torch.inference_mode():
        return all_maps(own, inputs)


def assert_close(found, slow, names, where):
    expected = np.array([slow[name] for name in names])
    close = np.isclose(found, expected, rtol=1e-5, atol=1e-5, equal_nan=True)
    assert close.all(), (where, [row for row in zip(names, found, expected, close, strict=True) if not row[-1]])


def rescaled(exact, layer):
    """Rows as shares of what reaches tokens."""
    return exact / exact.sum(-1, keepdims=True) if layer.sink else exact


def assert_texts(model, own, examples, path):
    """Collect and hold every map against slow loops."""
    atlas = ha.collect.maps(model, examples, path, resolution=RESOLUTION)
    pooled, stats = atlas.read("pooled").astype(float), atlas.read("stats")
    encoded = [encode(model, example)[0] for example in examples]
    groups = [range(len(encoded))] if model.padding else [[number] for number in range(len(encoded))]
    for group in groups:
        batch = text_batch(model, [encoded[number] for number in group])
        maps = own_maps(own, batch.inputs)
        maps = maps[-len(model.layers) :]  # families of which only the later layers can be read
        for e, number in enumerate(group):
            for layer, weights in zip(model.layers, maps, strict=True):
                assert np.isnan(pooled[:, layer.index, layer.heads :]).all()
                n, m = batch.extent(e, layer.kind)
                for head in range(layer.heads):
                    exact = weights[e, head, :n, :m].double().numpy()
                    where = (number, layer.index, head)
                    assert_map(model, layer, encoded[number], exact, pooled[where], stats[where])


def assert_map(model, layer, one, own, pooled, stats):
    names = statistics_of(model)
    specials = dict(zip([n for n in names.names if n.startswith("special:")], names.specials, strict=True))
    queries = one.source if layer.kind == "encoder" or one.target is None else one.target
    keys = one.target if layer.kind == "decoder" and one.target is not None else one.source
    exact = rescaled(own, layer)
    assert np.abs(pooled - reference.pooled(exact, RESOLUTION)).max() < 2e-3
    slow = reference.text(
        exact, queries, keys, specials, names.separator, causal=layer.causal, allowed=(own > 0).sum(-1)
    )  # fmt: skip
    assert_close(stats, slow, names.names, layer)


@pytest.mark.parametrize("name", TEXT_FAMILIES)
def test_texts(name, small, tmp_path):
    one = small(name)
    assert_texts(one.model, one.own, TEXTS, tmp_path / "x.atlas")


def test_texts_of_a_family_that_padding_changes(load_small, tmp_path):
    one = load_small(PARTLY["ConvBERT"])
    assert not one.model.padding
    assert_texts(one.model, one.own, [*TEXTS, *TEXTS], tmp_path / "x.atlas")


@pytest.mark.parametrize("name", ["minilm", "smollm2", "antiberty"])
def test_texts_of_real_models(name, load_real, tmp_path):
    model, own, examples = load_real(name)
    assert_texts(model, own, examples, tmp_path / "x.atlas")


@pytest.mark.parametrize("name", IMAGE_FAMILIES)
def test_images(name, small, tmp_path):
    one = small(name)
    pictures = [Example(str(number), image=path) for number, path in enumerate(one.pictures)]
    atlas = ha.collect.maps(one.model, pictures, tmp_path / "x.atlas", resolution=RESOLUTION)
    pooled, stats = atlas.read("pooled").astype(float), atlas.read("stats")
    names, grid = statistics_of(one.model).names, one.model.grid
    maps = own_maps(one.own, image_batch(one.model, one.pictures).inputs)
    for layer, weights in zip(one.model.layers, maps, strict=True):
        for e in range(len(pictures)):
            for head in range(layer.heads):
                where = (e, layer.index, head)
                exact = weights[e, head].double().numpy()
                assert np.abs(pooled[where] - reference.pooled(exact, RESOLUTION)).max() < 2e-3
                slow = reference.image(exact, grid.special, grid.rows, grid.columns)
                assert_close(stats[where], slow, names, (name, where))


def test_vectors_of_an_encoder_decoder_lie_with_their_own_tokens(small, tmp_path):
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
            for kept, own, at, size in zip(
                (query, key), (vectors.queries, vectors.keys), places[layer.kind], sizes[layer.kind], strict=True
            ):
                rows = kept[offset + at : offset + at + size, layer.index, : layer.heads, : layer.width]
                assert np.allclose(rows, own[layer.index].transpose(1, 0, 2), atol=1e-2)
                rest = np.delete(np.arange(offset, offset + n + m), np.arange(at, at + size))
                assert np.isnan(kept[rest, layer.index]).all()
