"""Composition of heads: planted weights, explicit products of small networks, and a real induction head."""

import numpy as np
import pytest
import torch

import headatlas as ha
from headatlas.models import capture
from headatlas.models.batch import text_batch
from headatlas.models.encode import encode
from headatlas.models.head_weights import HeadWeights, head_weights
from headatlas.models.model import Layer
from headatlas.numeric.composition import strength
from headatlas.stages.probe.composed import KINDS, connections, factors, measured, strongest
from headatlas.stages.probe.source import Source

TEXT = "The cat sat on the mat, and the dog slept."


def trial_of(model, text=TEXT):
    return text_batch(model, encode(model, ha.data.Example("0", text=text))[:1])


def random_weights(rng, heads, hidden, width):
    def drawn(*shape):
        return torch.from_numpy(rng.normal(size=shape))

    wide, tall = (heads, hidden, width), (heads, width, hidden)
    return HeadWeights(drawn(*wide), drawn(*wide), drawn(*wide), drawn(*tall), None)


def explicit(first, a, second, b, kind):
    """The score from whole matrices on the residual stream."""
    ov = (first.value[a] @ first.output[a]).numpy()
    qk = (second.query[b] @ second.key[b].T).numpy()
    ov_b = (second.value[b] @ second.output[b]).numpy()
    product, other = {"key": (qk @ ov.T, qk), "query": (ov @ qk, qk), "value": (ov @ ov_b, ov_b)}[kind]
    return np.linalg.norm(product) / np.linalg.norm(ov) / np.linalg.norm(other)


@pytest.mark.parametrize("family", ["BERT", "GPT-2", "Llama"])
def test_scores_are_those_of_explicit_products(small, family):
    model = small(family).model
    weights = head_weights(model, trial_of(model))
    found = {each["kind"]: each["found"] for each in connections(model.layers, weights)}
    assert set(found) == set(KINDS)
    for kind, each in found.items():
        for a in range(model.layers[0].heads):
            for b in range(model.layers[1].heads):
                assert each.score[a, b] == pytest.approx(explicit(weights[0], a, weights[1], b, kind), abs=1e-6)


@pytest.mark.parametrize("family", ["BERT", "GPT-2", "Llama"])
def test_weights_give_the_queries_keys_and_values_of_the_model(small, family):
    """With the normalization's scale put back, hidden states times weights are what the attention gets, but biases."""
    model, layer = small(family).model, small(family).model.layers[1]
    trial, network = trial_of(model), small(family).model.network
    record, states = capture.Record(maps=False, vectors=True), {}
    weights = head_weights(model, trial)[1]
    norm = network.get_submodule(weights.norm)
    hook = norm.register_forward_hook(lambda module, given, made: states.__setitem__("in", given[0].double()))
    capture.run(model, trial.inputs, record)
    hook.remove()
    stream = states["in"][0]
    center = stream.mean(-1, keepdim=True) if isinstance(norm, torch.nn.LayerNorm) else 0
    epsilon = norm.eps if isinstance(norm, torch.nn.LayerNorm) else norm.variance_epsilon
    scale = ((stream - center).square().mean(-1, keepdim=True) + epsilon).sqrt()
    for name, vectors in (("query", record.queries), ("key", record.keys), ("value", record.values)):
        captured = vectors[1][0].repeat_interleave(layer.heads // len(vectors[1][0]), 0).double()
        made = (stream / scale) @ getattr(weights, name)  # (head, token, feature)
        if name == "value" or family != "Llama":  # rotary embedding turns the others
            differences = (captured - made) - (captured - made)[:, :1]  # biases are the same for all tokens
            assert differences.abs().max() < 1e-5
        else:
            assert torch.allclose(captured.norm(dim=-1), made.norm(dim=-1), rtol=1e-5)
            assert torch.allclose(captured[:, 0], made[:, 0], atol=1e-5)


def planted(kind):
    """Two layers of three heads; head 2 of the later reads by `kind` only what head 1 of the earlier writes."""
    rng = np.random.default_rng(0)
    first, second = random_weights(rng, 3, 48, 4), random_weights(rng, 3, 48, 4)
    direction = torch.zeros(48, dtype=torch.float64)
    direction[7] = 1
    first.output[1] = torch.outer(torch.arange(1.0, 5, dtype=torch.float64), direction)
    getattr(second, kind)[2] = torch.outer(direction, torch.arange(1.0, 5, dtype=torch.float64))
    return first, second


@pytest.mark.parametrize("kind", KINDS)
def test_a_planted_connection_is_found_with_score_1(kind):
    first, second = planted(kind)
    layers = tuple(Layer(index, "encoder", 3, 3, 4, False, str(index)) for index in range(2))
    rows = strongest(layers, {0: first, 1: second}, 5)
    best = next(row for row in rows if row["kind"] == kind and row["rank"] == 0)
    assert (best["layer_a"], best["head_a"], best["layer_b"], best["head_b"]) == (0, 1, 1, 2)
    assert best["score"] == pytest.approx(1) and best["z"] > 15 and best["excess"] == pytest.approx(1 - 48**-0.5)
    others = [row["score"] for row in rows if row["kind"] == kind and row["rank"] > 0]
    assert len(others) == 4 and max(others) < 0.5


def test_the_baseline_and_z_are_those_of_random_rotations():
    rng = np.random.default_rng(1)
    writes, reads = rng.normal(size=(1, 3, 12)) * [[1], [3], [0.2]], rng.normal(size=(1, 12, 2)) * [5, 1]
    squares = []
    for _ in range(4000):
        rotation, triangle = np.linalg.qr(rng.normal(size=(12, 12)))
        turned = rotation * np.sign(np.diagonal(triangle))
        product = writes[0] @ turned @ reads[0]
        squares.append((np.linalg.norm(product) / np.linalg.norm(writes) / np.linalg.norm(reads)) ** 2)
    found = strength(writes, reads)
    deviation = (found.score[0, 0] ** 2 - found.baseline**2) / found.z[0, 0]
    assert found.baseline**2 == pytest.approx(np.mean(squares), rel=0.05)
    assert deviation == pytest.approx(np.std(squares), rel=0.08)


def test_random_weights_have_no_strong_pairs():
    rng = np.random.default_rng(2)
    layers = tuple(Layer(index, "decoder", 4, 4, 8, True, str(index)) for index in range(2))
    weights = {index: random_weights(rng, 4, 64, 8) for index in range(2)}
    z = np.concatenate([each["found"].z.ravel() for each in connections(layers, weights)])
    assert abs(z.mean()) < 1 and np.abs(z).max() < 6


def test_composed_maps_of_an_induction_circuit():
    tokens = np.array([3, 5, 8, 3, 5])  # 3 5 8 3 5: query 3 goes to what followed the first 3, and back to that 3
    previous, induction = np.eye(5)[[0, 0, 1, 2, 3]], np.eye(5)[[0, 0, 0, 1, 2]]
    same = np.tril((tokens[:, None] == tokens) & ~np.eye(5, dtype=bool))
    assert measured(previous, induction, same) == {"focus": 1.0, "repeat": 1.0}
    assert measured(np.full((5, 5), 0.2), induction, same)["repeat"] == pytest.approx(0.2)
    assert np.isnan(measured(previous, induction, None)["repeat"])


def test_the_table_of_the_packaged_model():
    texts = [example.text for example in ha.data.load("sample", limit=3)]
    atlas = ha.collect.maps("packaged", texts, "memory://compose-test.atlas", resolution=8, qk_tokens=0)
    table = ha.probe.compose(atlas, examples=2, top=6).to_pandas()
    assert list(table["rank"]) == [*range(6)] * 3 and (table.groupby("kind")["excess"].is_monotonic_decreasing).all()
    best = table[(table.kind == "query") & (table["rank"] == 0)].iloc[0]
    assert (best.layer_a, best.head_a, best.layer_b, best.head_b) == (1, 1, 2, 9)
    model = ha.models.load("packaged")
    repeat = []
    for example in Source(atlas, [0, 1, 2]).maps(ha.stages.probe.source.drawn_examples(atlas, 2, 0)):
        ids, special = example.encoded.source.ids, example.encoded.source.special
        composed = ha.models.attention(model, texts[example.number])
        composed = composed.map(2, 9).astype(float) @ composed.map(1, 1).astype(float)
        shares = [
            sum(row[j] for j in range(len(ids)) if j != i and ids[j] == ids[i] and not special[j])
            for i, row in enumerate(composed)
            if sum(ids == ids[i]) > 1 and not special[i]
        ]
        repeat.append(np.mean(shares))
    assert best["repeat"] == pytest.approx(np.mean(repeat), rel=1e-4)
    assert atlas.facts("probe", "compose")["gain_included"]


def test_previous_token_heads_feed_the_induction_head_of_smollm2(real):
    model = ha.models.load(real("smollm2"))
    weights = head_weights(model, trial_of(model))
    into, reads = {}, factors(weights[18])["key"][6:7]
    for layer in range(18):
        scores = strength(factors(weights[layer])["writes"], reads).score[:, 0]
        into |= {(layer, head): score for head, score in enumerate(scores)}
    record = capture.Record()
    capture.run(model, trial_of(model, " ".join([TEXT] * 4)).inputs, record)
    previous = {head: record.maps[head[0]][0, head[1]].diagonal(-1).mean().item() for head in into}
    best = max(previous, key=previous.get)
    assert previous[best] > 0.5
    assert sorted(into.values(), reverse=True).index(into[best]) < 3  # of 162 earlier heads
