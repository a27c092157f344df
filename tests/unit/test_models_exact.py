"""Every map equals that of the model to the sixth decimal, with and without padding; queries and keys reproduce it."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from conftest import TEXTS, word_tokenizer
from headatlas import models
from headatlas.errors import ModelError
from headatlas.models import capture
from headatlas.models.batch import text_batch
from headatlas.models.encode import encode
from support.families import FAMILIES, PARTLY

KINDS = ("encoder_attentions", "decoder_attentions", "cross_attentions", "attentions")
OUTSIDE = ("MPNet", "DeBERTa-v2", "BLOOM", "GPT-J")  # outside the registry, with projections that can be read
SILENT = ("XLNet", "Falcon", "MVP")  # outside the registry, and their projections cannot be separated


def model_maps(network, inputs):
    """The attention that the network itself returns: encoder, decoder, cross."""
    cache = {"use_cache": False} if getattr(network.config, "use_cache", None) is not None else {}
    with torch.inference_mode():
        output = network(**inputs, **cache, output_attentions=True)
    return [weights for kind in KINDS for weights in output.get(kind) or ()]


def recorded(model, batch, **what):
    record = capture.Record(**what)
    capture.run(model, batch.inputs, record)
    return record


def of_example(batch, layer, number, weights):
    """A map without its padding."""
    queries, keys = batch.extent(number, layer.kind)
    return weights[number, :, :queries, :keys]


def assert_equal(model, batch, actual, expected, tolerance):
    assert len(expected) == len(model.layers) == len(actual)
    for layer in model.layers:
        assert actual[layer.index].shape == expected[layer.index].shape
        for number in range(len(batch.lengths)):
            ours, theirs = (of_example(batch, layer, number, maps[layer.index]) for maps in (actual, expected))
            assert (ours - theirs).abs().max() <= tolerance, f"layer {layer.index}, example {number}"


@pytest.mark.parametrize("name", FAMILIES)
def test_maps_of_a_padded_batch_equal_those_of_the_model(name, small):
    loaded = small(name)
    maps = recorded(loaded.model, loaded.batch).maps
    assert_equal(loaded.model, loaded.batch, maps, model_maps(loaded.eager, loaded.batch.inputs), 1e-6)
    # the comparison would mean little for flat maps
    first = [of_example(loaded.batch, layer, 0, maps[layer.index]) for layer in loaded.model.layers]
    assert torch.cat([weights.amax(-1).flatten() for weights in first]).mean() > 4 / loaded.batch.lengths[0]


@pytest.mark.parametrize("name", FAMILIES)
def test_maps_of_a_single_example_equal_those_of_the_model_and_of_the_batch(name, small):
    loaded = small(name)
    padded = recorded(loaded.model, loaded.batch).maps
    for number, batch in enumerate(loaded.batches_of_one):
        maps = recorded(loaded.model, batch).maps
        assert_equal(loaded.model, batch, maps, model_maps(loaded.eager, batch.inputs), 1e-6)
        for layer in loaded.model.layers:
            together = of_example(loaded.batch, layer, number, padded[layer.index])
            assert (maps[layer.index][0] - together).abs().max() <= 1e-5


@pytest.mark.parametrize("name", FAMILIES)
def test_rows_are_probabilities_over_what_a_token_may_see(name, small):
    loaded = small(name)
    maps = recorded(loaded.model, loaded.batch).maps
    for layer in loaded.model.layers:
        window = loaded.family.windows[layer.index] if loaded.family.windows else None
        for number in range(len(loaded.batch.lengths)):
            weights = of_example(loaded.batch, layer, number, maps[layer.index])
            allowed = visible(layer, window, *weights.shape[-2:])
            assert weights[:, ~allowed].abs().max() == 0 if not allowed.all() else True
            assert weights.min() >= 0
            off = 1 - weights.sum(-1)
            assert (off > 0.01).any() if layer.sink else off.abs().max() < 1e-5
            if window:
                assert not allowed.tril().all(), "the window is wider than the text"


def visible(layer, window, queries, keys):
    """Which keys (query, key) a token may attend to."""
    distance = torch.arange(queries)[:, None] - torch.arange(keys)
    allowed = distance >= 0 if layer.causal else torch.ones(queries, keys, dtype=torch.bool)
    if window and layer.causal:
        allowed &= distance < window
    elif window:
        allowed &= distance.abs() <= window
    return allowed


@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in SILENT])
def test_queries_and_keys_of_standard_layers_reproduce_the_map(name, small):
    loaded = small(name)
    record = recorded(loaded.model, loaded.batch, vectors=True)
    for layer in loaded.model.layers:
        query, key, value = (part[layer.index] for part in (record.queries, record.keys, record.values))
        assert query.shape[1::2] == (layer.heads, layer.width)
        assert key.shape[1::2] == (layer.key_heads, layer.width)
        assert value.shape[1:3] == key.shape[1:3]
        if not layer.standard:
            continue
        window = loaded.family.windows[layer.index] if loaded.family.windows else None
        for number in range(len(loaded.batch.lengths)):
            queries, keys = loaded.batch.extent(number, layer.kind)
            shared = key[number, :, :keys].double().repeat_interleave(layer.heads // layer.key_heads, 0)
            scores = layer.scaling * query[number, :, :queries].double() @ shared.mT
            scores = scores.masked_fill(~visible(layer, window, queries, keys), -torch.inf)
            expected = of_example(loaded.batch, layer, number, record.maps[layer.index])
            assert (scores.softmax(-1) - expected).abs().max() <= 1e-6


@pytest.mark.parametrize("name", OUTSIDE)
def test_vectors_outside_the_registry_are_what_the_projections_give(name, small):
    loaded = small(name)
    record = recorded(loaded.model, loaded.batch, vectors=True)
    with torch.inference_mode():
        states = loaded.eager(**loaded.batch.inputs, output_hidden_states=True).hidden_states
        for layer in loaded.model.layers:
            expected = by_hand(loaded.eager, layer, states[layer.index])
            for part, by_name in zip(expected, (record.queries, record.keys, record.values), strict=True):
                assert by_name[layer.index].shape == (len(TEXTS), layer.heads, states[0].shape[1], layer.width)
                assert (by_name[layer.index] - part).abs().max() <= 1e-6


def by_hand(network, layer, states):
    """Queries, keys and values (example, head, token, feature) from the input states of a layer."""

    def split(projected, *parts):
        return projected.view(*states.shape[:2], layer.heads, *parts, layer.width).transpose(1, 2)

    family = network.config.model_type
    if family == "bloom":
        block = network.h[layer.index]
        fused = split(block.self_attention.query_key_value(block.input_layernorm(states)), 3)
        return [fused[..., part, :] for part in range(3)]
    if family == "gptj":
        block = network.h[layer.index]
        attention, states = block.attn, block.ln_1(states)
        return [split(project(states)) for project in (attention.q_proj, attention.k_proj, attention.v_proj)]
    block = network.encoder.layer[layer.index].attention
    if family == "mpnet":
        return [split(project(states)) for project in (block.attn.q, block.attn.k, block.attn.v)]
    return [split(project(states)) for project in (block.self.query_proj, block.self.key_proj, block.self.value_proj)]


@pytest.mark.parametrize("name", SILENT)
def test_vectors_that_cannot_be_separated_are_not_shown(name, small):
    model = small(name).model
    assert not model.has_vectors
    assert not recorded(model, small(name).batch, vectors=True).queries
    with pytest.raises(ModelError, match=f"the queries and keys of {model.family} cannot be read"):
        models.vectors(model, "Rain.")


def test_the_network_gives_the_same_result_with_and_without_a_watcher(small):
    loaded = small("BERT")
    capture.run(loaded.model, loaded.batch.inputs, capture.Record())
    with torch.inference_mode():
        watched, untouched = loaded.model.network(**loaded.batch.inputs), loaded.eager(**loaded.batch.inputs)
    assert torch.equal(watched.last_hidden_state, untouched.last_hidden_state)


def test_a_network_may_be_loaded_again(small):
    loaded = small("MPNet")
    reloaded = models.load(loaded.model.network, tokenizer=word_tokenizer())
    maps = recorded(reloaded, loaded.batch, vectors=True)
    assert_equal(reloaded, loaded.batch, maps.maps, model_maps(loaded.eager, loaded.batch.inputs), 1e-6)
    assert maps.queries.keys() == {0, 1}


def test_maps_of_several_threads_are_not_mixed_up(small):
    loaded = small("BERT")
    together = recorded(loaded.model, loaded.batch).maps[1]
    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(lambda batch: recorded(loaded.model, batch).maps[1][0], loaded.batches_of_one * 4))
    for number, maps in enumerate(results):
        expected = of_example(loaded.batch, loaded.model.layers[1], number % len(TEXTS), together)
        assert (maps - expected).abs().max() <= 1e-5


# --- families that are read in part


def test_block_sparse_attention_is_read_in_full_and_noted(load_small):
    loaded = load_small(PARTLY["BigBird"])
    [note] = loaded.model.notes
    uses = "it uses original_full attention for short texts and block_sparse for long ones"
    assert note == f"{uses}; headatlas uses original_full for all"
    loaded.eager.set_attention_type("original_full")
    maps = recorded(loaded.model, loaded.batch).maps
    assert_equal(loaded.model, loaded.batch, maps, model_maps(loaded.eager, loaded.batch.inputs), 1e-6)


def test_a_family_whose_maps_change_with_padding_is_noted(load_small):
    loaded = load_small(PARTLY["ConvBERT"])
    assert not loaded.model.padding
    assert loaded.model.notes == ("padding changes its maps: a batch holds only examples of the same length",)
    for batch in loaded.batches_of_one:
        assert_equal(
            loaded.model, batch, recorded(loaded.model, batch).maps, model_maps(loaded.eager, batch.inputs), 1e-6
        )


def test_layers_that_attend_within_windows_are_left_out_by_name(load_small):
    loaded = load_small(PARTLY["LED"])
    assert [layer.kind for layer in loaded.model.layers] == ["decoder", "decoder", "cross", "cross"]
    [note] = loaded.model.notes
    assert note.startswith("2 layers attend within windows") and "map 0, map 1" in note
    maps = recorded(loaded.model, loaded.batch).maps
    assert_equal(loaded.model, loaded.batch, maps, model_maps(loaded.eager, loaded.batch.inputs)[2:], 1e-6)


# --- real models


@pytest.mark.parametrize("name", ["minilm", "smollm2", "antiberty"])
def test_maps_of_real_models_equal_those_of_the_model(name, load_real):
    model, eager, examples = load_real(name)
    batch = text_batch(model, [encode(model, example)[0] for example in examples])
    assert len(set(batch.lengths)) > 3 and not model.notes
    assert_equal(model, batch, recorded(model, batch).maps, model_maps(eager, batch.inputs), 1e-6)


def test_a_head_of_minilm_looks_at_the_previous_token():
    attention = models.attention(models.load("packaged"), TEXTS[2])
    assert attention.map(0, 2).diagonal(-1).mean() > 0.99


def test_a_head_of_smollm2_looks_at_what_followed_the_same_token_before(real):
    model = models.load(real("smollm2"))
    once = torch.randint(1000, 40_000, (1, 40), generator=torch.Generator().manual_seed(0))
    ids = torch.cat([once, once], 1)
    record = capture.Record()
    capture.run(model, {"input_ids": ids, "attention_mask": torch.ones_like(ids)}, record)
    repeated = torch.arange(40, 80)
    induction = torch.stack([record.maps[layer][0][:, repeated, repeated - 39].mean(1) for layer in range(30)])
    assert induction[18, 6] >= 0.8
    assert induction.argmax() == 18 * 9 + 6
