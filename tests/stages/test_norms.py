"""What heads move, as statistics: equal to slow loops and to `probe writes`, without any effect on other numbers."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import headatlas as ha
from conftest import TEXTS
from headatlas.data import Example
from headatlas.errors import ModelError, OptionError
from headatlas.models import capture
from headatlas.models.batch import image_batch, text_batch
from headatlas.models.encode import encode
from headatlas.models.output_weights import output_weights
from headatlas.models.value_norms import triangular, value_norms
from headatlas.null.block import NullModels, Task, null_maps
from headatlas.stages.collect.norms import moved_statistics
from headatlas.web.api.endpoints import ENDPOINTS
from support import reference, served, small_maps
from support.commands import bits
from support.served import ask

NAMES = [f"norm:{name}" for name in ("first", "special", "self", "others", "length")]


@pytest.fixture(scope="module")
def packaged(packaged_model):
    return packaged_model


@pytest.fixture(scope="module")
def collected(packaged):
    texts = ha.data.load("sample:questions", limit=6)
    return ha.collect.maps(packaged, texts, "memory://norms.atlas", resolution=8, norms=True)


def names_of(atlas):
    return list(atlas.array("stats").attrs["stats"])


# exactness


@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(1, 12), m=st.integers(1, 12), square=st.booleans(), hidden=st.integers(2, 9),
    seed=st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_statistics_equal_slow_loops_on_any_values(n, m, square, hidden, seed):
    rng = np.random.default_rng(seed)
    m = n if square else m
    attention = small_maps.softmax(3 * rng.standard_normal((2, n, m)).astype(np.float32)).astype(np.float32)
    values, weight = rng.standard_normal((2, m, 4)), rng.standard_normal((2, 4, hidden))
    special = rng.random(m) < 0.4
    factor = triangular(torch.from_numpy(weight).float())
    lengths = torch.einsum("hkf,hrf->hkr", torch.from_numpy(values).float(), factor).norm(dim=-1).double().numpy()
    fast = moved_statistics(attention, lengths, special, square=square)
    for h in range(2):
        slow = reference.moved(attention[h].astype(float), values[h], weight[h], special, cross=not square)
        np.testing.assert_allclose(fast[h], list(slow.values()), rtol=2e-5, atol=2e-6)
        assert square is False or np.nansum(fast[h, :4]) == pytest.approx(1, abs=1e-5)


def assert_slow(model, stats, batch, special_of, numbers, heads=None):
    """Statistics of the examples of a batch against slow loops over maps and values of the model's eager attention."""
    record = capture.Record(vectors=True)
    capture.run(model, batch.inputs, record)
    weights = output_weights(model, batch)
    for e, number in enumerate(numbers):
        for layer in model.layers:
            n, m = batch.extent(e, layer.kind)
            shared = layer.heads // layer.key_heads
            for head in range(layer.heads)[:heads]:
                maps = record.maps[layer.index][e, head, :n, :m].double().numpy()
                values = record.values[layer.index][e, head // shared, :m].double().numpy()
                weight = weights[layer.index].weight[head].double().numpy()
                slow = reference.moved(maps, values, weight, special_of(e, layer), cross=layer.kind == "cross")
                np.testing.assert_allclose(
                    stats[number, layer.index, head, -5:], list(slow.values()), rtol=3e-5, atol=3e-6
                )


@pytest.mark.parametrize("family", ["BERT", "GPT-2", "Llama", "T5", "BART", "Gemma 2", "GPT-OSS"])
def test_families(family, small, tmp_path):
    """Fast layers, shared key heads, cross attention, soft caps, and a sink that takes a part of the attention."""
    model = small(family).model
    atlas = ha.collect.maps(model, TEXTS, tmp_path / "x.atlas", resolution=4, norms=True)
    assert names_of(atlas)[-5:] == NAMES
    encoded = [encode(model, example)[0] for example in TEXTS]

    def special_of(e, layer):
        keys = encoded[e].target if layer.kind == "decoder" and encoded[e].target else encoded[e].source
        return keys.special

    assert_slow(model, atlas.read("stats"), text_batch(model, encoded), special_of, range(len(TEXTS)))


def test_images(small, tmp_path):
    loaded = small("ViT")
    pictures = [Example(str(number), image=path) for number, path in enumerate(loaded.pictures)]
    atlas = ha.collect.maps(loaded.model, pictures, tmp_path / "x.atlas", resolution=4, norms=True)
    grid = loaded.model.grid
    special = np.arange(len(grid.special) + grid.rows * grid.columns) < len(grid.special)
    batch = image_batch(loaded.model, loaded.pictures)
    assert_slow(loaded.model, atlas.read("stats"), batch, lambda e, layer: special, range(len(pictures)))


def test_the_packaged_model(packaged, collected):
    texts = list(ha.data.load("sample:questions", limit=6))[:2]
    encoded = [encode(packaged, example)[0] for example in texts]
    batch = text_batch(packaged, encoded)
    assert_slow(packaged, collected.read("stats"), batch, lambda e, _: encoded[e].source.special, range(2), heads=2)


def test_they_equal_those_of_probe_writes(packaged, collected):
    """Its shares overlap: from special tokens includes the first, from itself includes special tokens."""
    rows = ha.probe.writes(collected, model=packaged).to_pandas()
    means = rows.pivot(index=["layer", "head"], columns="measure", values="mean")
    heads = collected.table("heads").to_pandas().set_index(["layer", "head"])
    np.testing.assert_allclose(heads["norm:length"], means["moved"], rtol=1e-4)
    np.testing.assert_allclose(heads["norm:first"], means["from_first"], rtol=1e-4, atol=1e-6)
    both = heads["norm:first"] + heads["norm:special"]  # the first token is [CLS]
    np.testing.assert_allclose(both, means["from_special"], rtol=1e-4, atol=1e-6)
    assert (heads["norm:self"] <= means["from_self"] + 1e-6).all()


# what is not touched


def test_norms_change_no_other_number(packaged, tmp_path):
    texts = ha.data.load("sample", limit=8)
    atlases = []
    for norms in (True, False):
        atlas = ha.collect.maps(packaged, texts, tmp_path / f"{norms}.atlas", resolution=8, norms=norms)
        for encoder in ("profile", "stats"):
            ha.features.image(atlas, encoder)
        atlases.append(atlas)
    first, second = atlases
    assert names_of(first) == names_of(second) + NAMES
    assert np.array_equal(first.read("stats")[..., :-5], second.read("stats"), equal_nan=True)
    for name in ("pooled", "query", "key", "value_norm"):
        assert np.array_equal(first.read(name), second.read(name), equal_nan=True)
    for of in ("profile", "stats"):
        assert np.array_equal(first.read("features", slice(None), of), second.read("features", slice(None), of))
    assert "norms" not in second.options and first.options["norms"] is True


def test_the_same_bits_with_processes(packaged, tmp_path):
    texts = ha.data.load("sample", limit=9)
    for name, workers in (("threads", 0), ("processes", 2)):
        path = tmp_path / f"{name}.atlas"
        ha.collect.maps("packaged", texts, path, resolution=4, qk_tokens=0, norms=True, workers=workers)
    assert bits(tmp_path / "threads.atlas") == bits(tmp_path / "processes.atlas")


def test_another_choice_is_another_collection(packaged, tmp_path):
    ha.collect.maps(packaged, ["One text."], tmp_path / "x.atlas", resolution=4, norms=True)
    with pytest.raises(OptionError, match="norms is True there and False here"):
        ha.collect.maps(packaged, ["One text."], tmp_path / "x.atlas", resolution=4)


def test_a_model_without_a_known_projection_is_refused_before_anything_is_written(small, tmp_path):
    model = small("XLNet").model
    assert model.route == "outputs"
    with pytest.raises(ModelError, match=r"write cannot be read: .*Collect without norms \(--norms\)") as raised:
        ha.collect.maps(model, TEXTS, tmp_path / "x.atlas", norms=True)
    assert "\n" not in str(raised.value) and not (tmp_path / "x.atlas").exists()


# null models and custom texts


def test_null_models_and_custom_texts_have_their_own(packaged, collected):
    for kind in ("shuffled", "permuted"):
        _, stats = null_maps(collected, NullModels(packaged, 0), Task(kind, [0, 1]))
        assert stats.shape[-1] == len(names_of(collected)) and np.isfinite(stats[..., -5:]).all()
        assert not np.allclose(stats[..., -5:], collected.read("stats")[:2, ..., -5:], rtol=0.01)
    client = served.client(collected, model=packaged)
    key = client.post(f"/{ENDPOINTS.custom_text.path()}", json={"text": "Who rang the bell?"}).json()["key"]
    sent = ask(client, ENDPOINTS.custom_statistics, key=key).json()
    values = np.array(sent["values"], dtype=np.float64)[..., -5:]
    assert sent["names"][-5:] == NAMES and np.allclose(values[..., :4].sum(-1), 1, atol=1e-5)


def test_lengths_are_found_once_per_model(packaged):
    assert value_norms(packaged) is value_norms(packaged)
