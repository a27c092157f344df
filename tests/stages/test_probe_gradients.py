"""Gradients by attention: against finite differences on small networks, on planted maps, and of real models."""

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertForMaskedLM, BertModel, GPT2Config, GPT2LMHeadModel, GPT2Model

import headatlas as ha
from headatlas.errors import DataError, ModelError
from headatlas.models import capture
from headatlas.models.language_head import language_head
from headatlas.models.model import Layer
from headatlas.stages.probe.gradient_maps import gradients, layer_rows, network_and_loss, parking
from headatlas.stages.probe.losses import total_loss
from headatlas.stages.probe.source import Source
from support.commands import call

TEXTS = [example.text for example in ha.data.load("sample", limit=3)]
STEP = 1e-4


def tokenizer():
    return ha.models.load("packaged").tokenizer


def network(kind):
    """A small network with random weights, in double precision once it is loaded."""
    torch.manual_seed(0)
    words = len(tokenizer())
    small = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 16, "intermediate_size": 32}
    if kind in (BertForMaskedLM, BertModel):
        return kind(BertConfig(vocab_size=words, initializer_range=0.3, **small))
    return kind(GPT2Config(vocab_size=words, n_layer=2, n_head=2, n_embd=16, n_positions=512, initializer_range=0.3))


@pytest.fixture(scope="module", params=[BertForMaskedLM, GPT2LMHeadModel, BertModel], ids=["masked", "next", "pooled"])
def source(request):
    """Texts read by a small network of each kind of loss."""
    model = ha.models.load(network(request.param), tokenizer=tokenizer())
    name = request.param.__name__.lower()
    atlas = ha.collect.maps(
        model, TEXTS, f"memory://{name}.atlas", resolution=8, qk_tokens=0, max_tokens=24, overlong="truncate"
    )
    model.network.double()
    return Source(atlas, [0, 1, 2], model)


def moved_loss(source, group, numbers, layer, cell, step):
    """The loss if one attention weight is changed, all else as it is."""
    model = source.model
    used, loss = network_and_loss(source)
    calls = len(model.layers)  # of one pass

    def see(number, call):
        output, weights = call.eager()
        changed = loss != "pooled" or number >= calls  # the first pass of this loss is the whole text
        if changed and number % calls == layer:
            weights = weights.clone()
            weights[cell] += step
            output = (weights @ call.value).transpose(1, 2)
        return output, weights

    with torch.no_grad(), capture.seeing(see):
        return float(total_loss(used, loss, model, group, numbers, 0))


def test_gradients_equal_finite_differences(source):
    numbers = [0, 1, 2]
    rng = np.random.default_rng(0)
    for group in source.batches(numbers):
        chosen = [numbers[place] for place in group.places]
        found = gradients(source, group, chosen, 0)
        assert set(found) == {0, 1}
        for layer, (maps, slopes) in found.items():
            for _ in range(6):
                cell = tuple(int(rng.integers(0, size)) for size in maps.shape)
                up, down = (moved_loss(source, group, chosen, layer, cell, sign * STEP) for sign in (1, -1))
                assert float(slopes[cell]) == pytest.approx((up - down) / (2 * STEP), rel=1e-3, abs=1e-9)
        assert float(slopes.abs().max()) > 1e-5


def test_a_text_has_the_same_gradients_in_any_batch(source):
    (alone,) = source.batches([1])
    groups = list(source.batches([0, 1, 2]))
    first = gradients(source, alone, [1], 0)
    for group in groups:
        chosen = [[0, 1, 2][place] for place in group.places]
        if 1 in chosen:
            place, length = chosen.index(1), alone.batch.lengths[0]
            together = gradients(source, group, chosen, 0)[0][1][place, :, :length, :length]
            assert torch.allclose(together, first[0][1][0], atol=1e-10)


def test_numbers_of_planted_maps():
    layer = Layer(0, "encoder", 1, 1, 4, False, "attention")
    maps = np.array([[[0.5, 0.25, 0.25], [0.2, 0.5, 0.3], [0.0, 0.4, 0.6]]])
    sizes = np.array([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [100.0, 8.0, 9.0]]])
    (row,) = layer_rows(7, layer, maps, sizes, np.array([True, False, True]))
    assert row["to_first"] == 2.5  # the weight of 0 is not counted
    assert row["to_others"] == pytest.approx(5) and row["to_separators"] == pytest.approx(6)
    assert row["relative"] == pytest.approx(1.2) and row["attention"] == pytest.approx((0.25 + 0.3 + 0.6) / 3)
    (row,) = layer_rows(7, layer, maps, sizes, np.array([True, False, False]))
    assert row["to_separators"] is None and row["relative"] is None and row["attention"] is None


def test_heads_that_park_on_separators():
    rng = np.random.default_rng(0)
    attention = rng.random(60)
    found = parking(attention, 1 - attention + rng.normal(scale=0.2, size=60), 0)
    assert found["rank"] < -0.5 and found["high"] < 0 and found["heads"] == 60
    nothing = parking(attention, rng.random(60), 0)
    assert nothing["low"] < 0 < nothing["high"]
    assert parking(np.full(60, np.nan), attention, 0) is None


def test_the_command_says_what_the_loss_is():
    atlas = ha.collect.maps("packaged", TEXTS, "memory://gradients-test.atlas", resolution=8, qk_tokens=0)
    code, printed, _ = call("probe", "gradients", atlas.files.url, "--examples", 3)
    assert code == 0 and "no head for tokens" in printed and "rank correlation" in printed
    assert ha.open(atlas.files.url).facts("probe", "gradients")["loss"] == "pooled"


def test_a_model_without_a_loss_is_refused():
    causal = tokenizer()
    causal.mask_token = None
    model = ha.models.load(network(GPT2Model), tokenizer=causal)
    atlas = ha.collect.maps(model, TEXTS, "memory://no-loss.atlas", resolution=8, qk_tokens=0, max_tokens=24)
    with pytest.raises(DataError, match="has no loss"):
        ha.probe.gradients(atlas, model=model)


def test_frozen_weights_are_refused():
    frozen = network(GPT2LMHeadModel).requires_grad_(False)
    model = ha.models.load(frozen, tokenizer=tokenizer())
    atlas = ha.collect.maps(model, TEXTS, "memory://frozen.atlas", resolution=8, qk_tokens=0, max_tokens=24)
    with pytest.raises(ModelError, match="frozen"):
        ha.probe.gradients(atlas, model=model)


def test_a_saved_model_gets_its_own_head(tmp_path):
    saved = network(GPT2LMHeadModel)
    saved.save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    model = ha.models.load(str(tmp_path))
    head = language_head(model)
    assert head is not None and head.predicts == "next"
    ids = torch.tensor([[5, 6, 7]])
    with torch.no_grad():
        assert torch.allclose(head.network(ids).logits, saved.eval()(ids).logits, atol=1e-4)
    assert language_head(ha.models.load("packaged")) is None
