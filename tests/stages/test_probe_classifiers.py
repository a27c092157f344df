"""Classifiers: planted maps that follow trees, the probe and its gradient by slow code, decoding by brute force."""

import gzip
import os
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

import headatlas as ha
from headatlas.data import word_vectors
from headatlas.errors import DataError, OptionError
from headatlas.models.encode import Encoded, Tokens
from headatlas.models.model import Layer
from headatlas.numeric.spanning import best_tree, is_tree
from headatlas.stages.probe.parsing import baselines
from headatlas.stages.probe.parsing.corpus import Corpus, Sentence, distance_maps, gathered
from headatlas.stages.probe.parsing.network import Probe, loss, node_vectors
from headatlas.stages.probe.parsing.results import Design, head_rows, inputs_of, row, rows_of_baselines, trained
from headatlas.stages.probe.parsing.scores import attachment, count, counted, scores
from headatlas.stages.probe.parsing.sentences import NO_TOKENS, NO_TREE, PART, WINDOWS, node_maps, reason_to_skip
from headatlas.stages.probe.parsing.training import Inputs, batches
from headatlas.stages.probe.source import ExampleMaps

HEADS = 4


def random_tree(rng, words):
    """Heads, from 1 with 0 for the root: each word is attached to one that is in the tree already."""
    order = rng.permutation(words) + 1
    heads = np.zeros(words, np.int64)
    for place in range(1, words):
        heads[order[place] - 1] = order[rng.integers(place)]
    return heads


def planted(effect, sentences=240, seed=0, direction="up"):
    """A corpus with noisy heads; with an effect, head 2 attends along the tree, and special tokens from the root."""
    rng = np.random.default_rng(seed)
    found, maps = [], {}
    for number in range(sentences):
        heads = random_tree(rng, int(rng.integers(3, 10)))
        nodes = len(heads) + 1
        attention = rng.dirichlet(np.ones(nodes), (HEADS, nodes))
        if effect:
            follows = np.full((nodes, nodes), 0.02)
            follows[np.arange(1, nodes), heads] = 1
            follows = follows if direction == "up" else follows.T
            attention[2] = follows / follows.sum(-1, keepdims=True)
        found.append(Sentence(number, ("a",) * len(heads), heads, np.ones(len(heads), bool)))
        maps[number] = attention.transpose(1, 2, 0).astype(np.float16)
    return Corpus(found, {"trained": lambda sentence: maps[sentence.example]}, HEADS, {})


def designed(corpus, seeds=2, epochs=12):
    train, test = corpus.sentences[:-60], corpus.sentences[-60:]
    return Design(train, np.arange(len(train)), test, np.arange(len(test)), seeds, epochs, 0)


@pytest.mark.parametrize("direction", ["up", "down"])
def test_a_head_that_follows_the_tree_is_found(direction):
    corpus = planted(effect=True, direction=direction)
    design = designed(corpus)
    runs = trained(design, inputs_of(corpus, None, corpus.sentences[:-60]))
    counts = [[getattr(run, kind) for run in runs["attention"]] for kind in ("greedy", "tree")]
    result = row(design, "attention", *counts)
    assert result["uas"] > 0.97 and result["uas_tree"] > 0.97 and result["uuas"] > 0.97
    weights = head_rows(runs["attention"], [(0, head) for head in range(HEADS)])
    effects = {name: [abs(each[f"{name}_effect"]) for each in weights] for name in ("up", "down")}
    assert np.argmax(effects[direction]) == 2 and max(effects[direction]) > 5 * sorted(effects[direction])[-2]
    _, chosen = rows_of_baselines(design, corpus, [(0, head) for head in range(HEADS)])
    assert chosen["best_head"] == {"layer": 0, "head": 2, "direction": direction}


def test_heads_of_noise_find_no_more_than_a_guess():
    corpus = planted(effect=False)
    design = designed(corpus)
    runs = trained(design, inputs_of(corpus, None, corpus.sentences[:-60]))["attention"]
    guess = np.mean([1 / sentence.words for sentence in design.test for _ in sentence.head])
    assert abs(row(design, "attention", [run.greedy for run in runs])["uas"] - guess) < 0.08


def test_the_same_seed_gives_the_same_probe():
    corpus = planted(effect=True, sentences=120)
    first, second = (
        trained(designed(corpus, 1, 3), inputs_of(corpus, None, corpus.sentences[:-60]))["attention"][0]
        for _ in range(2)
    )
    assert (first.weights == second.weights).all() and (first.greedy == second.greedy).all()


def slow_scores(probe, maps, vectors):
    """Scores [head][dependent] of one sentence, by the formula."""
    nodes, heads = len(vectors), maps.shape[-1]
    rows = []
    for i, j in product(range(nodes), repeat=2):
        total = vectors[j] @ probe.root if i == 0 else torch.zeros(())
        for k in range(heads):
            w = vectors[i] @ probe.by_head[0, :, k] + vectors[j] @ probe.by_dependent[0, :, k]
            u = vectors[i] @ probe.by_head[1, :, k] + vectors[j] @ probe.by_dependent[1, :, k]
            total = total + w * maps[i, j, k] + u * maps[j, i, k]
        rows.append(total)
    return torch.stack(rows).reshape(nodes, nodes)


@pytest.mark.parametrize("width", [0, 2])
def test_log_likelihood_and_gradient_by_slow_code(width):
    torch.manual_seed(0)
    probe = Probe(3, width)
    for parameter in probe.parameters():
        torch.nn.init.normal_(parameter)
    lengths = [3, 2]  # the second sentence is padded
    maps, vectors = torch.rand(2, 4, 4, 3), node_vectors(torch.randn(2, 3, width))
    heads = torch.tensor([[2, 0, 2], [0, 1, -1]])
    fast = loss(probe(maps, vectors), heads, torch.tensor(lengths))
    slow = torch.zeros(())
    for sentence, words in enumerate(lengths):
        table = slow_scores(probe, maps[sentence], vectors[sentence])
        for j in range(1, words + 1):
            others = torch.stack([table[i, j] for i in range(words + 1) if i != j])
            slow = slow - (table[heads[sentence, j - 1], j] - others.logsumexp(0))
    assert fast.item() == pytest.approx(slow.item(), rel=1e-5)
    fast_gradients = torch.autograd.grad(fast, list(probe.parameters()))
    slow_gradients = torch.autograd.grad(slow, list(probe.parameters()))
    for one, other in zip(fast_gradients, slow_gradients, strict=True):
        assert one.numpy() == pytest.approx(other.numpy(), abs=1e-4)


@pytest.mark.parametrize("words", [1, 2, 3, 4, 5])
def test_the_best_tree_by_brute_force(words):
    rng = np.random.default_rng(words)
    trees = [heads for heads in product(range(words + 1), repeat=words) if is_tree(np.array(heads))]
    assert len(trees) == words ** (words - 1)  # Cayley: rooted labeled trees
    for _ in range(40):
        table = rng.normal(size=(words + 1, words + 1)) * rng.choice([0.1, 10])
        best = max(trees, key=lambda heads: sum(table[head, place] for place, head in enumerate(heads, 1)))
        assert best_tree(table)[1:].tolist() == list(best)


def test_attachment_by_hand():
    heads, punctuation = np.array([2, 0, 4, 2, 2]), np.array([False, False, False, False, True])
    sentence = Sentence(0, (), heads, ~punctuation)
    guess = np.array([0, 1, 4, 3, 2])
    # Heads: word 3 of four; with punctuation 2 of five. Edges 1–2, 3–4 and 4–2: the first two, one of them reversed.
    assert counted(sentence, guess) == [4, 1, 5, 2, 3, 2]
    result = scores(count([sentence] * 3, [guess, heads, heads]), np.array([0, 1, 1]), 0)
    assert result["uas"] == pytest.approx(9 / 12) and result["uuas"] == pytest.approx(8 / 9)
    assert result["uas_punctuation"] == pytest.approx(12 / 15)
    assert result["uas_low"] == pytest.approx(0.25) and result["uas_high"] == pytest.approx(1)
    assert attachment(count([sentence], [heads])) == 1


def test_fixed_offsets_and_distances():
    sentence = Sentence(0, (), np.array([2, 3, 0]), np.ones(3, bool))
    assert baselines.at_offset(sentence, -1).tolist() == [0, 1, 2]
    assert baselines.best_offset([sentence] * 3) == 1
    maps = distance_maps(Sentence(0, (), np.zeros(40, np.int64), np.ones(40, bool)))
    assert (maps.sum(-1) == 1).all() and maps[3, 3].argmax() == 0 and maps[40, 1].argmax() == 7
    assert maps[4, 9].argmax() == 8 + 4 and maps[4, 10].argmax() == 8 + 5


def test_batches_have_every_sentence_once_and_bounded_maps(monkeypatch):
    from headatlas.stages.probe.parsing import training

    monkeypatch.setattr(training, "MOST", 3000)
    corpus = planted(effect=False, sentences=100)
    found = list(batches(corpus.sentences, HEADS, np.random.default_rng(1)))
    assert sorted(each.example for batch in found for each in batch) == list(range(100))
    inputs = Inputs(corpus.maps["trained"], HEADS, np.ones((2, HEADS), np.float32), {}, 0)
    assert all(inputs.batch(batch)[0].numel() <= 3000 for batch in found)


def test_special_tokens_are_the_root_and_pieces_are_words():
    rng = np.random.default_rng(0)
    word = np.array([-1, 0, 0, 1, -1], np.int32)
    tokens = Tokens(np.zeros(5, np.int32), [""] * 5, word, word < 0, *(np.zeros(5, np.int8),) * 3)
    maps = rng.dirichlet(np.ones(5), (2, 5)).astype(np.float32)
    layers = (Layer(0, "encoder", 2, 2, 8, False, "0"),)
    found = node_maps(ExampleMaps(0, Encoded(tokens), [maps]), layers, 2)
    assert found.shape == (3, 3, 2)
    for head in range(2):
        assert found[1, 0, head] == pytest.approx(maps[head][[1, 2]][:, [0, 4]].sum(1).mean(), abs=1e-3)
        assert found[0, 2, head] == pytest.approx(maps[head][[0, 4], 3].mean(), abs=1e-3)
        assert found[2, 1, head] == pytest.approx(maps[head][3, [1, 2]].sum(), abs=1e-3)


@pytest.mark.parametrize(
    ("tree", "reason"),
    [
        ({"head": [2, 0], "deprel": ["a", "root"], "windows": 1}, None),
        ({"head": [2, 1], "deprel": ["a", "b"], "windows": 1}, NO_TREE),
        ({"head": [2, None], "deprel": ["a", "b"], "windows": 1}, NO_TREE),
        ({"head": [9, 0], "deprel": ["a", "b"], "windows": 1}, NO_TREE),
        ({"head": [2, 0], "deprel": ["a", "root"], "windows": 2}, WINDOWS),
        ({"head": [2, 0, 2], "deprel": ["a", "root", "b"], "windows": 1}, NO_TOKENS),
    ],
)
def test_sentences_that_cannot_be_used(tree, reason):
    word = np.array([-1, 0, 1, -1], np.int32)
    tokens = Tokens(np.zeros(4, np.int32), [""] * 4, word, word < 0, *(np.zeros(4, np.int8),) * 3)
    assert reason_to_skip(tree, tokens) == reason


def test_maps_come_back_from_the_file():
    rng = np.random.default_rng(0)
    rows, exact = [], {}
    for number, words in enumerate([3, 1, 5]):
        exact[number] = rng.random((words + 1, words + 1, HEADS)).astype(np.float16)
        heads, forms = random_tree(rng, words).tolist(), ["x"] * words
        maps = {"trained": exact[number].tobytes(), "untrained": (exact[number] / 2).tobytes()}
        rows.append({"example": number, "form": forms, "head": heads, "punctuation": [False] * words} | maps)
    rows.insert(1, {"example": 9, "skipped": NO_TREE})
    tables = [pa.Table.from_pylist(rows[:2], schema=PART), pa.Table.from_pylist(rows[2:], schema=PART)]
    with gathered(tables, HEADS) as corpus:
        assert corpus.skipped == {NO_TREE: 1} and len(corpus.sentences) == 3
        for sentence in corpus.sentences:
            assert (corpus.maps["trained"](sentence) == exact[sentence.example]).all()
            assert (corpus.maps["untrained"](sentence) == exact[sentence.example] / 2).all()


# Word vectors


def test_vectors_of_text_and_of_archives(tmp_path):
    text = tmp_path / "glove.txt"
    text.write_text("the 1 2\ncat 3 4\nCat 5 6\ncat 7 8\n")
    vectors = word_vectors.read(str(text), ["The", "cat", "Cat", "qzx"])
    assert vectors.of(["The", "cat", "Cat", "qzx"]).tolist() == [[1, 2], [3, 4], [5, 6], [0, 0]]
    assert [vectors.knows(word) for word in ("THE", "qzx")] == [True, False]
    counted_text = tmp_path / "word2vec.txt"
    counted_text.write_text("2 2\nthe 1 2\ncat 3 4\n")
    assert word_vectors.read(str(counted_text), ["cat"]).of(["cat"]).tolist() == [[3, 4]]
    np.savez(tmp_path / "own.npz", vectors=np.array([[1, 2], [3, 4]], np.float16), words=np.array(["the", "cat"]))
    assert word_vectors.read(str(tmp_path / "own.npz"), ["cat"]).of(["Cat"]).tolist() == [[3, 4]]
    folder = tmp_path / "beside"
    folder.mkdir()
    np.savez(folder / "plain.npz", vectors=np.array([[1, 2], [3, 4]], np.float32))
    (folder / "vocab.txt").write_text("the\ncat\n")
    assert word_vectors.read(str(folder / "plain.npz"), ["the"]).of(["the"]).tolist() == [[1, 2]]
    before = word_vectors.fingerprint(str(folder / "plain.npz"))
    (folder / "vocab.txt").write_text("cat\nthe\n")
    assert word_vectors.fingerprint(str(folder / "plain.npz")) != before


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"the 1 2\ncat 3\n", "line 2: 1 numbers, not 2"),
        ("a.txt", b"the one two\n", "line 1: could not convert"),
        ("a.txt", b"", "is empty"),
        ("a.npz", b"no archive", "not a NumPy archive"),
    ],
)
def test_files_that_are_not_vectors(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        word_vectors.check(str(path))


def test_archives_that_are_not_vectors(tmp_path):
    path = str(tmp_path / "a.npz")
    np.savez(path, numbers=np.zeros(3))
    with pytest.raises(DataError, match="no array `vectors`"):
        word_vectors.check(path)
    np.savez(path, vectors=np.zeros((3, 2)))
    with pytest.raises(DataError, match=r"no vocab\.txt beside it"):
        word_vectors.check(path)
    np.savez(path, vectors=np.zeros((3, 2)), words=np.array(["a"]))
    with pytest.raises(DataError, match="1 words, but 3 vectors"):
        word_vectors.check(path)
    with pytest.raises(DataError, match="is missing"):
        word_vectors.check(str(tmp_path / "none.txt"))
    (tmp_path / "b.txt").write_text("the 1 2\n")
    with pytest.raises(DataError, match="none of the words"):
        word_vectors.read(str(tmp_path / "b.txt"), ["cat"])


# The whole analysis

SENTENCES = [
    [("The", 3, "det"), ("unbelievable", 3, "amod"), ("dog", 4, "nsubj"), ("chased", 0, "root"), ("a", 6, "det"),
     ("tabby", 4, "obj"), (".", 4, "punct")],
    [("She", 2, "nsubj"), ("reads", 0, "root"), ("old", 4, "amod"), ("books", 2, "obj"), (".", 2, "punct")],
    [("Go", 0, "root"), ("!", 1, "punct")],
]  # fmt: skip


def treebank(path, count, *, broken=0):
    lines = []
    for number in range(count):
        lines += [f"# newdoc id = {number // 2}", f"# sent_id = {number}"]
        for place, (form, head, relation) in enumerate(SENTENCES[number % 3], 1):
            above = place if number < broken else head  # a word that is its own head is no tree
            lines.append(f"{place}\t{form}\t{form}\tX\t_\t_\t{above}\t{relation}\t_\t_")
        lines.append("")
    path.write_text("\n".join(lines) + "\n")
    return f"conllu:{path}"


def collected(data, path, model="packaged"):
    return ha.collect.maps(model, data, path, resolution=8, qk_tokens=0)


@pytest.fixture(scope="module")
def atlas(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classifiers")
    return collected(treebank(folder / "x.conllu", 60, broken=4), folder / "x.atlas")


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    path = tmp_path_factory.mktemp("vectors") / "glove.txt"
    words = sorted({form.lower() for sentence in SENTENCES for form, _, _ in sentence} - {"tabby"})
    rng = np.random.default_rng(0)
    path.write_text("".join(f"{word} {' '.join(map(str, rng.normal(size=4).round(3)))}\n" for word in words))
    return path


def test_every_probe_and_baseline_has_a_row(atlas, vectors):
    table = ha.probe.classifiers(atlas, vectors=vectors, seeds=2, epochs=60).to_pandas().set_index("probe")
    trained_probes = ["distance", "untrained_attention", "attention"]
    assert list(table.index) == [
        "right_branching", "best_offset", "best_head", *trained_probes, *(f"{name}_words" for name in trained_probes)
    ]  # fmt: skip
    assert set(table.index[table["role"] == "probe"]) == {"attention", "attention_words"}
    assert ((table["uas"] >= 0) & (table["uas"] <= 1)).all() and table["sentences"].nunique() == 1
    assert table.loc["attention_words", "uas"] > 0.9  # three sentences are learned by heart
    assert table.loc["attention", "seeds"] == 2 and np.isnan(table.loc["best_head", "uas_tree"])
    facts = atlas.facts("probe", "classifiers")
    assert facts["skipped"] == {NO_TREE: 4} and facts["split"] == "documents" and facts["train"] + facts["test"] == 56
    assert facts["unknown"] == sum(number % 3 == 0 for number in range(4, 60))  # “tabby” in every first sentence
    heads = atlas.table("probe_classifier_heads").to_pandas()
    assert len(heads) == 72 and heads["up"].notna().all() and heads["up_spread"].notna().all()


def test_another_atlas_to_test_on(atlas, tmp_path):
    other = collected(treebank(tmp_path / "y.conllu", 12), tmp_path / "y.atlas")
    table = ha.probe.classifiers(atlas, test=other, seeds=1, epochs=1).to_pandas()
    assert (table["sentences"] == 12).all() and (table["words"] == 4 * (6 + 4 + 1)).all()
    assert atlas.facts("probe", "classifiers")["split"] == "atlas"
    assert "attention_words" not in set(table["probe"])  # no vectors
    few = collected(treebank(tmp_path / "z.conllu", 12, broken=8), tmp_path / "z.atlas")
    with pytest.raises(DataError, match=r"4 to test on: at least 10 .*left out: 12 no tree"):
        ha.probe.classifiers(atlas, test=few, seeds=1, epochs=1)
    with pytest.raises(OptionError, match="made with another model"):
        model = ha.models.untrained("packaged", seed=1)
        texts = collected(ha.data.load(f"conllu:{tmp_path / 'y.conllu'}"), "memory://other-model.atlas", model)
        ha.probe.classifiers(atlas, test=texts)


def test_what_is_missing_is_named(atlas, tmp_path):
    texts = collected(["The cat sat."], "memory://classifiers-texts.atlas")
    with pytest.raises(DataError, match=r"conllu:FILE\.conllu"):
        ha.probe.classifiers(texts)
    with pytest.raises(DataError, match="49 sentences are too few: classifiers need at least 50"):
        ha.probe.classifiers(atlas, examples=49)
    with pytest.raises(DataError, match=r"none\.txt is missing"):
        ha.probe.classifiers(atlas, vectors=tmp_path / "none.txt")
    with pytest.raises(OptionError, match="not of a treebank"):
        ha.probe.classifiers(atlas, test=texts)


TRAIN = Path(os.environ.get("HEADATLAS_TREEBANK", ""))


@pytest.mark.skipif(not TRAIN.is_file(), reason="HEADATLAS_TREEBANK names no file such as en_ewt-ud-train.conllu.gz")
def test_a_trained_model_tells_more_than_an_untrained_one(tmp_path):
    with gzip.open(TRAIN, "rt") as stream:
        sentences = stream.read().split("\n\n")[:300]
    (tmp_path / "x.conllu").write_text("\n\n".join(sentences) + "\n\n")
    atlas = collected(f"conllu:{tmp_path / 'x.conllu'}", tmp_path / "x.atlas")
    table = ha.probe.classifiers(atlas, seeds=1, epochs=10).to_pandas().set_index("probe")
    assert table.loc["attention", "uas_low"] > table.loc["untrained_attention", "uas_high"]
    assert table.loc["attention", "uas_low"] > table.loc["right_branching", "uas_high"]
