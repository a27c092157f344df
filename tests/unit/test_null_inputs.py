"""What null models are made of: random weights, shuffled tokens, the radius of a cluster, and stored encoders."""

import copy
import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

from conftest import TEXTS
from headatlas import data, models
from headatlas.data import Example
from headatlas.errors import ModelError, OptionError
from headatlas.models import random_weights
from headatlas.models.encode import encode
from headatlas.models.shuffle import shuffled
from headatlas.stages.cluster.radius import radii

FAMILIES = [
    "BERT",
    "ALBERT",
    "DeBERTa-v2",
    "BLOOM",
    "Llama",
    "Gemma 2",
    "T5",
    "BART",
    "CLIP text",
    "CLIP vision",
    "ViT",
]

# random weights


@pytest.mark.parametrize("name", FAMILIES)
def test_the_same_architecture_has_random_weights(name, small):
    trained = small(name).model
    first, same, other = (models.untrained(trained, seed) for seed in (3, 3, 4))
    assert first.hash == same.hash and len({trained.hash, first.hash, other.hash}) == 3
    assert first.name == f"{trained.name} (untrained, seed 3)" and first.source is None
    assert (first.tokenizer, first.processor, first.grid) == (trained.tokenizer, trained.processor, trained.grid)
    assert (first.layers, first.max_tokens, first.route) == (trained.layers, trained.max_tokens, trained.route)
    old, new = trained.network.state_dict(), first.network.state_dict()
    assert {key: (value.shape, value.dtype) for key, value in old.items()} == {
        key: (value.shape, value.dtype) for key, value in new.items()
    }


def maps_of(model, pictures):
    example = pictures[0] if model.grid else TEXTS[2]
    return np.concatenate([maps.ravel() for maps in models.attention(model, example).maps])


@pytest.mark.parametrize("name", ["BERT", "Llama", "T5", "ViT"])
def test_maps_depend_on_the_seed_alone(name, small, pictures):
    trained = small(name).model
    before = torch.random.get_rng_state()
    for make in (models.untrained, models.permuted):
        maps = [maps_of(make(trained, seed), pictures) for seed in (0, 0, 1)]
        assert torch.equal(before, torch.random.get_rng_state())
        assert np.array_equal(maps[0], maps[1]) and not np.allclose(maps[0], maps[2], atol=1e-6)
        assert not np.allclose(maps[0], maps_of(trained, pictures), atol=1e-3)


def test_weights_are_those_of_transformers(small):
    from transformers import BertModel

    trained = small("BERT").model
    torch.manual_seed(5)
    expected = BertModel(trained.network.config).state_dict()
    drawn = models.untrained(trained, 5).network.state_dict()
    assert all(torch.equal(drawn[name], weight) for name, weight in expected.items())


def test_large_and_quantized_models_are_refused(small, monkeypatch):
    model = small("BERT").model
    count = sum(weight.numel() for weight in model.network.parameters())
    monkeypatch.setattr(random_weights, "MOST_PARAMETERS", count)
    assert random_weights.refusal(model) is None
    monkeypatch.setattr(random_weights, "MOST_PARAMETERS", count - 1)
    with pytest.raises(ModelError, match=f"has no permuted model: it has {count:,} parameters; at most"):
        models.permuted(model)
    with pytest.raises(ModelError, match=f"has no untrained model: it has {count:,} parameters; at most"):
        models.untrained(model)
    monkeypatch.undo()
    monkeypatch.setattr(model.network.config, "quantization_config", {"quant_method": "gptq"}, raising=False)
    for make in (models.untrained, models.permuted):
        with pytest.raises(ModelError, match="its weights are quantized"):
            make(model)


def test_a_negative_seed_is_refused(small):
    for make in (models.untrained, models.permuted):
        with pytest.raises(OptionError, match="seed -1: it cannot be negative"):
            make(small("BERT").model, -1)


# weights in random order


@pytest.mark.parametrize("name", FAMILIES)
def test_each_weight_keeps_its_entries_in_another_order(name, small):
    trained = small(name).model
    before = {key: value.clone() for key, value in trained.network.state_dict().items()}
    first, same, other = (models.permuted(trained, seed) for seed in (3, 3, 4))
    assert first.hash == same.hash and len({trained.hash, first.hash, other.hash}) == 3
    assert first.name == f"{trained.name} (permuted, seed 3)" and first.source is None
    assert (first.layers, first.max_tokens, first.route) == (trained.layers, trained.max_tokens, trained.route)
    for key, weight in trained.network.named_parameters():
        moved = first.network.get_parameter(key)
        assert torch.equal(weight.flatten().sort().values, moved.flatten().sort().values)
        assert len(weight.unique()) < 10 or not torch.equal(weight, moved)
    for key, value in trained.network.state_dict().items():
        assert torch.equal(before[key], value)  # the model itself is left alone
    for key, value in trained.network.named_buffers():
        assert torch.equal(value, first.network.get_buffer(key))  # positions and frequencies are no weights


@pytest.mark.parametrize("name", ["T5", "BART", "ALBERT"])
def test_tied_weights_stay_tied(name, small):
    trained = small(name).model.network
    network = models.permuted(small(name).model, 1).network

    def names(of):
        shared = {}
        for key, weight in of.named_parameters(remove_duplicate=False):
            shared.setdefault(weight.data_ptr(), set()).add(key)
        return sorted(sorted(keys) for keys in shared.values())

    assert names(trained) == names(network)


def test_half_precision_can_be_shuffled(small):
    network = copy.deepcopy(small("BERT").model.network).to(torch.bfloat16)
    moved = random_weights._permuted_network(replace(small("BERT").model, network=network), 0)
    for weight, other in zip(network.parameters(), moved.parameters(), strict=True):
        assert other.dtype == torch.bfloat16
        assert torch.equal(weight.flatten().sort().values, other.flatten().sort().values)


# shuffled tokens


def rows(tokens, places):
    fields = (tokens.ids, tokens.text, tokens.word, tokens.start, tokens.stop)
    return sorted(tuple(str(values[place]) for values in fields) for place in places)


@pytest.mark.parametrize("name", ["BERT", "Llama", "T5"])
@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_each_side_keeps_its_tokens_and_special_tokens_stay(name, number, small):
    encoded = encode(small(name).model, TEXTS[number])[0]
    new = shuffled(encoded, 7, number)
    for before, after in ((encoded.source, new.source), (encoded.target, new.target)):
        if before is None:
            assert after is None
            continue
        assert np.array_equal(before.special, after.special) and np.array_equal(before.segment, after.segment)
        special = np.flatnonzero(before.special)
        assert np.array_equal(before.ids[special], after.ids[special])
        for segment in np.unique(before.segment):
            places = np.flatnonzero(~before.special & (before.segment == segment))
            assert rows(before, places) == rows(after, places)
    assert (new.window, new.windows, new.cut) == (encoded.window, encoded.windows, encoded.cut)


def test_the_order_depends_on_seed_and_example(small):
    encoded = encode(small("BERT").model, TEXTS[2])[0]
    orders = [shuffled(encoded, seed, example).source.ids for seed, example in ((0, 0), (0, 0), (1, 0), (0, 1))]
    assert np.array_equal(orders[0], orders[1])
    assert not any(np.array_equal(orders[0], other) for other in (encoded.source.ids, *orders[2:]))


def test_a_shuffled_dataset_has_its_own_name_and_fingerprint(pictures):
    plain = data.load(["The tide turns.", "Rain."])
    first, other = plain.shuffled(), plain.shuffled(1)
    assert len({plain.fingerprint, first.fingerprint, other.fingerprint}) == 3
    assert first.limited(1).shuffle == 0 and plain.limited(1).shuffle is None
    with pytest.raises(OptionError, match="seed -1"):
        plain.shuffled(-1)
    with pytest.raises(OptionError, match=r"holds images: only tokens of texts can be shuffled, patches cannot"):
        data.load([Example("0", image=pictures[0])]).shuffled()


def test_windows_of_one_text_are_shuffled_differently(small):
    encoded = encode(small("BERT").model, TEXTS[2])[0]
    twice = [shuffled(replace(encoded, window=number), 0, number).source.ids for number in range(2)]
    assert not np.array_equal(*twice)


# the radius of a cluster


@pytest.mark.parametrize("share", [0.5, 0.95, 1.0])
def test_the_radius_is_the_quantile_of_numpy(share):
    rng = np.random.default_rng(0)
    labels = rng.integers(-2, 6, 5000)
    distances = (rng.exponential(size=5000) * 10.0 ** rng.integers(-6, 4, 5000)).astype(np.float32)
    distances[::7] = distances[3]  # ties
    distances[labels < 0] = np.nan
    distances[(labels == 5) & (np.arange(5000) % 2 == 0)] = 0
    labels[labels == 4] = 3  # an empty cluster
    cuts = [0, 1, 1200, 5000]
    parts = [(labels[a:b], distances[a:b]) for a, b in itertools.pairwise(cuts)]
    radius = radii(lambda: parts, 6, share)
    assert radius.dtype == np.float32 and np.isnan(radius[4])
    for cluster in (0, 1, 2, 3, 5):
        members = distances[labels == cluster]
        assert radius[cluster] == np.quantile(members, share, method="inverted_cdf")
        assert (members <= radius[cluster]).mean() >= share


def test_the_radius_of_one_map_is_its_distance():
    assert radii(lambda: [(np.array([0]), np.array([0.3], np.float32))], 1).tolist() == [np.float32(0.3)]
