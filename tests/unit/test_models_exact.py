"""Every map is the model's own to the sixth decimal, with padding and without; queries and keys make it again."""

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
SILENT = ("XLNet", "Falcon", "MVP")  # outside the registry, and their projections cannot be told apart


def own_maps(network, inputs):
    """What the network itself says it attended to: encoder, decoder, cross."""
    cache = {"use_cache": False} if getattr(network.config, "use_cache", None) is not None else {}
    with torch.inference_mode():
        output = network(**inputs, **cache, output_attentions=True)
    return [weights for kind in KINDS for weights in output.get(kind) or ()]


def recorded(model, batch, **what):
    record = capture.Record(**what)
    capture.run(model, batch.inputs, record)
    return record


def of_example(batch, layer, number, weights):
    """A map without what belongs to padding."""
    queries, keys = batch.extent(number, layer.kind)
    return weights[number, :, :queries, :keys]


def assert_equal(model, batch, found, expected, tolerance):
    assert len(expected) == len(model.layers) == len(found)
    for layer in model.layers:
        assert found[layer.index].shape == expected[layer.index].shape
        for number in range(len(batch.lengths)):
            ours, theirs = (of_example(batch, layer, number, maps[layer.index]) for maps in (found, expected))
            assert (ours - theirs).abs().max() <= tolerance, f"layer {layer.index}, example {number}"


@pytest.mark.parametrize("name", FAMILIES)
def test_maps_of_a_padded_batch_are_the_models_own(name, small):
    one = small(name)
    maps = recorded(one.model, one.batch).maps
    assert_equal(one.model, one.batch, maps, own_maps(one.own, one.batch.inputs), 1e-6)
    # the comparison would say little on flat maps
    own = [of_example(one.batch, layer, 0, maps[layer.index]) for layer in one.model.layers]
    assert torch.cat([weights.amax(-1).flatten() for weights in own]).mean() > 4 / one.batch.lengths[0]


@pytest.mark.parametrize("name", FAMILIES)
def test_maps_of_an_example_alone_are_the_models_own_and_those_of_the_batch(name, small):
    one = small(name)
    padded = recorded(one.model, one.batch).maps
    for number, batch in enumerate(one.batches_of_one):
        maps = recorded(one.model, batch).maps
        assert_equal(one.model, batch, maps, own_maps(one.own, batch.inputs), 1e-6)
        for layer in one.model.layers:
            together = of_example(one.batch, layer, number, padded[layer.index])
            assert (maps[layer.index][0] - together).abs().max() <= 1e-5


@pytest.mark.parametrize("name", FAMILIES)
def test_rows_are_probabilities_over_what_a_token_may_see(name, small):
    one = small(name)
    maps = recorded(one.model, one.batch).maps
    for layer in one.model.layers:
        window = one.family.windows[layer.index] if one.family.windows else None
        for number in range(len(one.batch.lengths)):
            own = of_example(one.batch, layer, number, maps[layer.index])
            seen = visible(layer, window, *own.shape[-2:])
            assert own[:, ~seen].abs().max() == 0 if not seen.all() else True
            assert own.min() >= 0
            off = 1 - own.sum(-1)
            assert (off > 0.01).any() if layer.sink else off.abs().max() < 1e-5
            if window:
                assert not seen.tril().all(), "the window is wider than the text"


def visible(layer, window, queries, keys):
    """Which keys (query, key) a token may attend to."""
    distance = torch.arange(queries)[:, None] - torch.arange(keys)
    seen = distance >= 0 if layer.causal else torch.ones(queries, keys, dtype=torch.bool)
    if window and layer.causal:
        seen &= distance < window
    elif window:
        seen &= distance.abs() <= window
    return seen


@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in SILENT])
def test_queries_and_keys_of_standard_layers_make_the_map_again(name, small):
    one = small(name)
    record = recorded(one.model, one.batch, vectors=True)
    for layer in one.model.layers:
        query, key, value = (part[layer.index] for part in (record.queries, record.keys, record.values))
        assert query.shape[1::2] == (layer.heads, layer.width)
        assert key.shape[1::2] == (layer.key_heads, layer.width)
        assert value.shape[1:3] == key.shape[1:3]
        if not layer.standard:
            continue
        window = one.family.windows[layer.index] if one.family.windows else None
        for number in range(len(one.batch.lengths)):
            queries, keys = one.batch.extent(number, layer.kind)
            shared = key[number, :, :keys].double().repeat_interleave(layer.heads // layer.key_heads, 0)
            scores = layer.scaling * query[number, :, :queries].double() @ shared.mT
            scores = scores.masked_fill(~visible(layer, window, queries, keys), -torch.inf)
            expected = of_example(one.batch, layer, number, record.maps[layer.index])
            assert (scores.softmax(-1) - expected).abs().max() <= 1e-6


@pytest.mark.parametrize("name", OUTSIDE)
def test_vectors_outside_the_registry_are_what_the_projections_give(name, small):
    one = small(name)
    record = recorded(one.model, one.batch, vectors=True)
    with torch.inference_mode():
        states = one.own(**one.batch.inputs, output_hidden_states=True).hidden_states
        for layer in one.model.layers:
            expected = by_hand(one.own, layer, states[layer.index])
            for part, by_name in zip(expected, (record.queries, record.keys, record.values), strict=True):
                assert by_name[layer.index].shape == (len(TEXTS), layer.heads, states[0].shape[1], layer.width)
                assert (by_name[layer.index] - part).abs().max() <= 1e-6


def by_hand(own, layer, states):
    """Queries, keys and values (example, head, token, feature) from the states a layer is given."""

    def split(projected, *parts):
        return projected.view(*states.shape[:2], layer.heads, *parts, layer.width).transpose(1, 2)

    family = own.config.model_type
    if family == "bloom":
        block = own.h[layer.index]
        fused = split(block.self_attention.query_key_value(block.input_layernorm(states)), 3)
        return [fused[..., part, :] for part in range(3)]
    if family == "gptj":
        block = own.h[layer.index]
        attention, states = block.attn, block.ln_1(states)
        return [split(project(states)) for project in (attention.q_proj, attention.k_proj, attention.v_proj)]
    block = own.encoder.layer[layer.index].attention
    if family == "mpnet":
        return [split(project(states)) for project in (block.attn.q, block.attn.k, block.attn.v)]
    return [split(project(states)) for project in (block.self.query_proj, block.self.key_proj, block.self.value_proj)]


@pytest.mark.parametrize("name", SILENT)
def test_vectors_that_cannot_be_told_apart_are_not_shown(name, small):
    model = small(name).model
    assert not model.has_vectors
    assert not recorded(model, small(name).batch, vectors=True).queries
    with pytest.raises(ModelError, match=f"the queries and keys of {model.family} cannot be read"):
        models.vectors(model, "Rain.")


def test_the_network_gives_the_same_result_with_and_without_a_watcher(small):
    one = small("BERT")
    capture.run(one.model, one.batch.inputs, capture.Record())
    with torch.inference_mode():
        watched, untouched = one.model.network(**one.batch.inputs), one.own(**one.batch.inputs)
    assert torch.equal(watched.last_hidden_state, untouched.last_hidden_state)


def test_a_network_may_be_loaded_again(small):
    one = small("MPNet")
    again = models.load(one.model.network, tokenizer=word_tokenizer())
    maps = recorded(again, one.batch, vectors=True)
    assert_equal(again, one.batch, maps.maps, own_maps(one.own, one.batch.inputs), 1e-6)
    assert maps.queries.keys() == {0, 1}


def test_maps_in_another_thread_do_not_meet_the_watcher_of_this_one(small):
    one = small("BERT")
    together = recorded(one.model, one.batch).maps[1]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda batch: recorded(one.model, batch).maps[1][0], one.batches_of_one * 4))
    for number, maps in enumerate(found):
        own = of_example(one.batch, one.model.layers[1], number % len(TEXTS), together)
        assert (maps - own).abs().max() <= 1e-5


# --- families that are read in part


def test_block_sparse_attention_is_read_in_full_and_said_so(load_small):
    one = load_small(PARTLY["BigBird"])
    [note] = one.model.notes
    uses = "it uses original_full attention for short texts and block_sparse for long ones"
    assert note == f"{uses}; headatlas uses original_full for all"
    one.own.set_attention_type("original_full")
    maps = recorded(one.model, one.batch).maps
    assert_equal(one.model, one.batch, maps, own_maps(one.own, one.batch.inputs), 1e-6)


def test_a_family_whose_maps_padding_changes_says_so(load_small):
    one = load_small(PARTLY["ConvBERT"])
    assert not one.model.padding
    assert one.model.notes == ("padding changes its maps: a batch holds only examples of the same length",)
    for batch in one.batches_of_one:
        assert_equal(one.model, batch, recorded(one.model, batch).maps, own_maps(one.own, batch.inputs), 1e-6)


def test_layers_that_attend_within_windows_are_left_out_by_name(load_small):
    one = load_small(PARTLY["LED"])
    assert [layer.kind for layer in one.model.layers] == ["decoder", "decoder", "cross", "cross"]
    [note] = one.model.notes
    assert note.startswith("2 layers attend within windows") and "map 0, map 1" in note
    maps = recorded(one.model, one.batch).maps
    assert_equal(one.model, one.batch, maps, own_maps(one.own, one.batch.inputs)[2:], 1e-6)


# --- real models


@pytest.mark.parametrize("name", ["minilm", "smollm2", "antiberty"])
def test_maps_of_real_models_are_their_own(name, load_real):
    model, own, examples = load_real(name)
    batch = text_batch(model, [encode(model, example)[0] for example in examples])
    assert len(set(batch.lengths)) > 3 and not model.notes
    assert_equal(model, batch, recorded(model, batch).maps, own_maps(own, batch.inputs), 1e-6)


def test_a_head_of_minilm_looks_at_the_previous_token():
    found = models.attention(models.load("packaged"), TEXTS[2])
    assert found.map(0, 2).diagonal(-1).mean() > 0.99


def test_a_head_of_smollm2_looks_at_what_followed_the_same_token_before(real):
    model = models.load(real("smollm2"))
    once = torch.randint(1000, 40_000, (1, 40), generator=torch.Generator().manual_seed(0))
    ids = torch.cat([once, once], 1)
    record = capture.Record()
    capture.run(model, {"input_ids": ids, "attention_mask": torch.ones_like(ids)}, record)
    again = torch.arange(40, 80)
    induction = torch.stack([record.maps[layer][0][:, again, again - 39].mean(1) for layer in range(30)])
    assert induction[18, 6] >= 0.8
    assert induction.argmax() == 18 * 9 + 6
