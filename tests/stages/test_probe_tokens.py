"""Promoted tokens: explicit computations on small models of the next token, and one that is planted."""

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

import headatlas as ha
from headatlas.errors import DataError
from headatlas.models import capture
from headatlas.models.unembedding import unembedding
from headatlas.stages.probe.promoted import token_texts, writings
from headatlas.stages.probe.source import Source

TEXTS = [example.text for example in ha.data.load("sample", limit=8)]
SMALL = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}


def tokenizer():
    return ha.models.load("packaged").tokenizer


def network(family):
    """A small model of the next token with random weights, gains that are not 1, and for Llama shared keys."""
    torch.manual_seed(0)
    words = len(tokenizer())
    if family == "GPT-2":
        made = GPT2LMHeadModel(
            GPT2Config(vocab_size=words, n_layer=2, n_head=4, n_embd=16, n_positions=512, initializer_range=0.3)
        )
    else:
        made = LlamaForCausalLM(
            LlamaConfig(
                vocab_size=words, num_key_value_heads=2, initializer_range=0.3, max_position_embeddings=512, **SMALL
            )
        )
    for name, weight in made.named_parameters():
        if "norm" in name or "ln_" in name:
            torch.nn.init.uniform_(weight, 0.5, 1.5)
    return made


@pytest.fixture(scope="module", params=["GPT-2", "Llama"])
def case(request):
    """A model, its atlas, and the network with its head."""
    made = network(request.param)
    model = ha.models.load(made, tokenizer=tokenizer())
    path = f"memory://tokens-{request.param.lower()}.atlas"
    return made, ha.collect.maps(model, TEXTS, path, resolution=8, qk_tokens=0, max_tokens=24), model


def last_norm(made):
    return made.transformer.ln_f if hasattr(made, "transformer") else made.model.norm


def test_scores_of_a_stream_are_the_logits(case):
    made, atlas, model = case
    source = Source(atlas, [0], model)
    found = unembedding(model, source.trial)
    with found.reading() as streams, torch.inference_mode():
        logits = made(**source.trial.inputs).logits[0]
    stream = streams[0][0]
    scores = (stream * found.scale(stream)[:, None]) @ found.weight
    bias = getattr(last_norm(made), "bias", None)
    expected = logits if bias is None else logits - made.lm_head(bias)
    expected = expected - expected.mean(-1, keepdim=True)
    assert torch.allclose(scores, expected, atol=1e-4)


def test_sums_and_strongest_pairs_by_loops(case):
    _, atlas, model = case
    source = Source(atlas, [0, 1], model)
    for _, writing in writings(source, [0, 1]):
        query, key, vectors = writing.strongest()
        for each in range(writing.layer.heads):
            sizes = [
                (float(writing.maps[each, i, j] * writing.scale[i] * writing.parts[each, j].norm()), i, j)
                for i in writing.inner for j in writing.inner
            ]  # fmt: skip
            size, i, j = max(sizes)
            assert float(vectors[each].norm()) == pytest.approx(size, rel=1e-5)
            assert (query[each], key[each]) == (i, j)
        total = sum(
            float(writing.maps[0, i, j] * writing.scale[i]) * writing.parts[0, j].double().numpy()
            for i in writing.inner for j in range(len(writing.scale))
        )  # fmt: skip
        assert np.allclose(writing.sums()[0], total, atol=1e-4)


def test_parts_add_up_to_the_attention_block(case):
    made, atlas, model = case
    source = Source(atlas, [0], model)
    blocks = made.transformer.h if hasattr(made, "transformer") else made.model.layers
    outputs = []
    hooks = [
        (block.attn if hasattr(block, "attn") else block.self_attn).register_forward_hook(
            lambda module, given, output: outputs.append(output[0][0])
        )
        for block in blocks
    ]
    capture.run(model, source.trial.inputs, capture.Record())
    for hook in hooks:
        hook.remove()
    for (_, writing), output, weights in zip(writings(source, [0]), outputs, source.output_weights, strict=True):
        written = (writing.maps @ writing.parts).sum(0) + (0 if weights.bias is None else weights.bias)
        assert torch.allclose(written, output, atol=1e-5)


def test_the_table_is_of_the_mean_of_what_is_written(case):
    _, atlas, model = case
    table = ha.probe.tokens(atlas, model=model).to_pandas()
    assert atlas.facts("probe", "tokens")["blocks"] == 2 and set(table.blocks) == {1}
    source = Source(atlas, list(range(8)), model)
    ends = unembedding(model, source.trial)
    halves = []
    for numbers in ([0, 1, 2, 3], [4, 5, 6, 7]):
        of_head = [(writing.sums()[3], len(writing.inner)) for _, writing in writings(source, numbers)
                   if writing.layer.index == 1]  # fmt: skip
        mean = sum(total for total, _ in of_head) / sum(count for _, count in of_head)
        halves.append(torch.from_numpy(mean).float() @ ends.weight)
    best = int(halves[0].argmax())
    row = table[(table.layer == 1) & (table["head"] == 3) & (table.kind == "promoted") & (table["rank"] == 0)].iloc[0]
    assert row["token"] == token_texts(source, [best])[0]
    assert row["score"] == pytest.approx(float(halves[1][best]), abs=1e-4)
    pairs = atlas.table("probe_token_pairs").to_pandas()
    assert (pairs.groupby(["layer", "head"]).moved.diff().dropna() <= 0).all() and (pairs.tokens.str.len() == 5).all()
    text = ha.probe.ANALYSES["tokens"]().of_head(atlas, 1, 3)
    assert f"promotes “{row['token']}”" in text[0] and "writes most from" in text[1]


def test_a_planted_token_is_promoted():
    made = network("Llama")
    word = tokenizer().convert_tokens_to_ids("harbor")
    with torch.no_grad():
        made.model.norm.weight.fill_(1.0)
        block = made.model.layers[1].self_attn
        made.lm_head.weight[word] *= 5  # no other token has a larger product with this direction
        direction = made.lm_head.weight[word]
        block.o_proj.weight[:, 8:12] = direction[:, None]  # head 2 writes this direction, whatever its values are
    model = ha.models.load(made, tokenizer=tokenizer())
    block.v_proj.register_forward_hook(lambda module, given, output: torch.ones_like(output))  # values are 1 everywhere
    atlas = ha.collect.maps(model, TEXTS, "memory://planted-tokens.atlas", resolution=8, qk_tokens=0, max_tokens=24)
    table = ha.probe.tokens(atlas, model=model).to_pandas()
    promoted = table[(table.layer == 1) & (table["head"] == 2) & (table.kind == "promoted")]
    assert promoted["token"].iloc[0] == "harbor"


def test_models_without_an_unembedding_are_refused():
    torch.manual_seed(0)
    masked = BertForMaskedLM(BertConfig(vocab_size=len(tokenizer()), **SMALL))
    model = ha.models.load(masked, tokenizer=tokenizer())
    atlas = ha.collect.maps(model, TEXTS[:2], "memory://masked-tokens.atlas", resolution=8, qk_tokens=0, max_tokens=24)
    with pytest.raises(DataError, match="models of the next token"):
        ha.probe.tokens(atlas, model=model)
    causal = ha.models.load(network("GPT-2").transformer, tokenizer=tokenizer())
    bare = ha.collect.maps(causal, TEXTS[:2], "memory://bare-tokens.atlas", resolution=8, qk_tokens=0, max_tokens=24)
    with pytest.raises(DataError, match="no tokens to promote"):
        ha.probe.tokens(bare, model=causal)
