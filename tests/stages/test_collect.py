"""What collect stores equals slow float64 loops over the eager attention of the model."""

import numpy as np
import pytest
import torch
from hypothesis import example as case
from hypothesis import given, settings
from hypothesis import strategies as st

import headatlas as ha
from headatlas.data import Example
from headatlas.errors import ModelError
from headatlas.models.batch import text_batch
from headatlas.models.encode import encode
from headatlas.stages.collect.plan import _block, _sample
from headatlas.stages.collect.reduce import Reduce
from headatlas.stages.collect.stat_axis import statistics_of
from support import reference, small_maps

TEXTS = [
    "The cat sat on the mat, and the dog sat on the cat. The end.",
    "Short.",
    "“Is it ready?” asked Dawit. “Press it,” said Mrs Okonjo, who had baked bread, rolls, and more bread since 1987.",
    "one two three one two three one two three",
]


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 40),
    r=st.sampled_from([2, 5, 8, 16, 32]),
    causal=st.booleans(),
    spread=st.floats(0.1, 30),
    seed=st.integers(0, 2**32 - 1),
)
@case(n=3, r=2, causal=True, spread=20.0, seed=1062188348)  # inner weights whose squares underflow
def test_kernel_equals_slow_loops_on_any_scores(n, r, causal, spread, seed):
    rng = np.random.default_rng(seed)
    tokens = small_maps.tokens(rng, n)
    scores = (rng.standard_normal((2, n, n)) * spread).astype(np.float32)
    exact = small_maps.softmax(scores, causal)
    attention, pooled, stats = small_maps.text_statistics(scores, tokens, tokens, r, causal)
    assert np.abs(attention - exact).max() < 2e-6
    names = small_maps.text_axis().names
    for h in range(2):
        assert np.abs(pooled[h] - reference.pooled(exact[h], r)).max() < 1e-5
        slow = reference.text(exact[h], tokens, tokens, small_maps.SPECIALS, small_maps.SEPARATOR, causal=causal)
        expected = np.array([slow[name] for name in names])
        assert np.allclose(stats[h], expected, rtol=1e-5, atol=1e-5, equal_nan=True), dict(
            zip(names, zip(stats[h], expected, strict=True), strict=True)
        )


def test_pooling_to_the_same_size_is_the_identity_and_to_a_divisor_is_block_sums():
    rng = np.random.default_rng(0)
    attention = rng.dirichlet(np.ones(32), 32)
    assert np.allclose(reference.pooled(attention, 32), attention)
    blocks = attention.reshape(8, 4, 8, 4).sum(3).mean(1)
    assert np.allclose(reference.pooled(attention, 8), blocks)


@pytest.fixture(scope="module")
def packaged():
    return ha.models.load("packaged")


def eager_maps(model, texts):
    """The attention of an unmodified copy of the model on a padded batch."""
    from transformers import AutoModel

    network = AutoModel.from_pretrained(model.source, attn_implementation="eager").eval()
    encoded = [encode(model, Example("x", text))[0] for text in texts]
    with torch.inference_mode():
        maps = network(**text_batch(model, encoded).inputs, output_attentions=True).attentions
    return encoded, maps


def assert_atlas_matches(atlas, model, encoded, maps, r, heads):
    statistics = statistics_of(model)
    specials = dict(zip(special_names(statistics), statistics.specials, strict=True))
    pooled, stats = atlas.read("pooled").astype(float), atlas.read("stats")
    for e, example in enumerate(encoded):
        tokens, n = example.source, len(example.source)
        for layer, head in heads:
            exact = maps[layer][e, head, :n, :n].double().numpy()
            assert np.abs(pooled[e, layer, head] - reference.pooled(exact, r)).max() < 2e-3
            causal = model.layers[layer].causal
            slow = reference.text(exact, tokens, tokens, specials, statistics.separator, causal=causal)
            expected = np.array([slow[name] for name in statistics.names])
            values = stats[e, layer, head]
            assert np.allclose(values, expected, rtol=1e-5, atol=1e-5, equal_nan=True), (e, layer, head)


def special_names(statistics):
    return [name for name in statistics.names if name.startswith("special:")]


def test_every_head_of_the_packaged_model_is_exact_with_padding(packaged, tmp_path):
    atlas = ha.collect.maps(packaged, TEXTS, tmp_path / "x.atlas", resolution=16)
    encoded, maps = eager_maps(packaged, TEXTS)
    heads = [(layer, head) for layer in range(6) for head in range(12)]
    assert_atlas_matches(atlas, packaged, encoded, maps, 16, heads)


def test_sampled_vectors_rebuild_the_maps(packaged, tmp_path):
    atlas = ha.collect.maps(packaged, TEXTS, tmp_path / "x.atlas")
    _, maps = eager_maps(packaged, TEXTS)
    sampled = atlas.table("sampled").to_pydict()
    assert sampled["example"] == [0, 1, 2, 3]  # few tokens: all are kept
    query, key = (atlas.read(name).astype(np.float32) for name in ("query", "key"))
    for example, offset, count in zip(*sampled.values(), strict=True):
        rows = slice(offset, offset + count)
        for layer, head in ((0, 2), (3, 7), (5, 11)):
            scores = query[rows, layer, head] @ key[rows, layer, head].T * packaged.layers[layer].scaling
            rebuilt = np.exp(scores - scores.max(-1, keepdims=True))
            rebuilt /= rebuilt.sum(-1, keepdims=True)
            exact = maps[layer][example, head, :count, :count].numpy()
            assert np.abs(rebuilt - exact).max() < 1e-2  # vectors are kept as float16
    values = ha.models.vectors(packaged, TEXTS[0]).values
    norms = atlas.read("value_norm")[: sampled["tokens"][0], 2, 5]
    assert np.allclose(norms, np.linalg.norm(values[2][5], axis=-1), atol=1e-5)


def test_tables_and_means_agree_with_the_arrays(packaged, tmp_path):
    atlas = ha.collect.maps(packaged, ha.data.load("sample", limit=40), tmp_path / "x.atlas", resolution=8)
    stats = atlas.read("stats").astype(np.float64)
    heads = atlas.table("heads").to_pandas()
    names = atlas.collection["stats"]
    assert list(heads.columns) == ["layer", "head", "kind", "key_head", *names]
    row = heads[(heads.layer == 3) & (heads["head"] == 7)].iloc[0]
    assert np.allclose([row[name] for name in names], np.nanmean(stats[:, 3, 7], 0), rtol=1e-6)
    examples, tokens_table = atlas.table("examples").to_pandas(), atlas.table("tokens").to_pandas()
    assert len(examples) == 40 and examples.n_tokens.sum() == len(tokens_table)
    assert (tokens_table.groupby("example").size().to_numpy() == examples.n_tokens.to_numpy()).all()
    assert (tokens_table.token.to_numpy() == np.arange(len(tokens_table))).all()
    assert (examples.offset.to_numpy() == np.r_[0, examples.n_tokens.cumsum()[:-1]]).all()
    text = examples.text[7]
    words = tokens_table[(tokens_table.example == 7) & ~tokens_table.special]
    for start, stop, piece in zip(words.start, words.stop, words.text.str.removeprefix("##"), strict=True):
        assert not piece.isascii() or text[start:stop].lower() == piece
    assert {"title", "topic", "style"} <= set(examples.columns)
    means = np.concatenate([np.repeat(m[None], 8, 0) for m in atlas.read("pooled_mean")])[:40:8]
    pooled = atlas.read("pooled").astype(np.float32).reshape(5, 8, 6, 12, 8, 8).mean(1)
    assert np.allclose(means, pooled, atol=1e-6)


def test_long_texts_are_cut_or_windowed_and_counted(packaged, tmp_path, capfd):
    long = " ".join(f"word{i}" for i in range(300))
    cut = ha.collect.maps(packaged, [long, "short one"], tmp_path / "cut.atlas", resolution=4, max_tokens=40)
    counts = cut.collection["counts"]
    assert counts["cut"] == 1 and counts["cut_tokens"] > 500 and counts["examples"] == 2
    assert "truncated: 1 text (" in capfd.readouterr().err
    windowed = ha.collect.maps(packaged, [long], tmp_path / "win.atlas", resolution=4, max_tokens=40, overlong="window")
    counts = windowed.collection["counts"]
    assert counts["cut"] == 0 and counts["windowed"] == 1 and counts["windows"] == counts["examples"] > 10
    covered = windowed.table("tokens").to_pandas()
    covered = covered[~covered.special]
    characters = {at for start, stop in zip(covered.start, covered.stop, strict=True) for at in range(start, stop)}
    assert set(range(len(long))) - characters == {at for at, character in enumerate(long) if character == " "}


def test_rows_that_do_not_sum_to_one_stop_and_name_the_layer(packaged):
    encoded = [encode(packaged, Example("x", text))[0] for text in TEXTS]
    batch = text_batch(packaged, encoded)
    watcher = Reduce(packaged, batch, statistics_of(packaged), 8, lambda *_: pytest.fail("nothing should be reduced"))
    half = torch.full((len(TEXTS), 12, max(batch.lengths), max(batch.lengths)), 0.5 / batch.lengths[0])
    with pytest.raises(ModelError, match=r"layer 3 \(encoder\.layer\.3.*does not sum to 1: a row is off by 0\.5"):
        watcher.map(packaged.layers[3], half)
    with pytest.raises(ModelError, match=r"layer 3 .* is NaN or infinite"):
        watcher.map(packaged.layers[3], half * float("nan"))


def test_sampled_tokens_are_complete_examples_within_the_budget():
    options = ha.collect.Options(32, None, "truncate", 100, 0, 2048)
    lengths = list(np.random.default_rng(1).integers(5, 40, 50))
    chosen = _sample(lengths, options)
    assert 60 < sum(chosen.values()) <= 100 and list(chosen) == sorted(chosen)
    assert all(lengths[example] == count for example, count in chosen.items())
    assert _sample(lengths, options) == chosen
    assert _sample(lengths, ha.collect.Options(32, None, "truncate", 100, 1, 2048)) != chosen
    assert _sample(lengths, ha.collect.Options(32, None, "truncate", 0, 0, 2048)) == {}
    assert len(_sample([500, 600], ha.collect.Options(32, None, "truncate", 100, 0, 2048))) == 1


@pytest.mark.parametrize(
    ("examples", "size", "block"), [(3, 100, 8), (300, 100, 16), (10_000, 100, 128), (10_000, 2 << 20, 8)]
)
def test_blocks_are_powers_of_two_and_bounded(examples, size, block):
    assert _block(examples, size) == block


def test_memory_urls_hold_an_atlas_with_the_same_numbers(packaged, tmp_path):
    on_disk = ha.collect.maps(packaged, TEXTS, tmp_path / "x.atlas", resolution=8)
    ha.collect.maps(packaged, TEXTS, "memory://test_memory.atlas", resolution=8)
    in_memory = ha.open("memory://test_memory.atlas")
    for name in on_disk.arrays():
        assert np.array_equal(on_disk.read(name), in_memory.read(name), equal_nan=True)
    assert on_disk.table("tokens").equals(in_memory.table("tokens"))
    assert "pooled" in str(in_memory) and "<img" in in_memory._repr_html_()
