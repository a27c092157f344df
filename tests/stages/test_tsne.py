"""Head t-SNE on real maps: properties of P, notes on unusual maps, layouts, chains, axes, commands."""

import json
import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headatlas import data, models, tsne
from headatlas.errors import DataError, OptionError
from headatlas.numeric.quantiles import axis
from headatlas.stages.tsne.activity import chains, head_activity
from headatlas.stages.tsne.affinity import Empty, affinity, to_words
from headatlas.stages.tsne.align import align, rotation
from headatlas.stages.tsne.choice import choose, spell
from headatlas.stages.tsne.reading import read
from support.commands import call, done

CAT = "The cat sat on the mat, and the dog lay on the floor; neither of them slept."


@pytest.fixture(scope="module")
def model():
    return models.load("packaged")


@pytest.fixture(scope="module")
def long(model):
    return read(model, next(iter(data.load("sample", limit=1))))


# P


def assert_valid_distribution(p):
    assert (p >= 0).all() and np.array_equal(p, p.T) and (np.diag(p) == 0).all()
    assert p.sum() == pytest.approx(1, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 24), st.integers(1, 24), st.integers(0, 999), st.sampled_from([0.01, 0.2, 5.0]), st.data())
def test_p_is_a_valid_distribution_for_encoder_decoder_and_cross_maps(n, m, seed, sharp, draw):
    rng = np.random.default_rng(seed)
    full = rng.dirichlet(np.full(n, sharp), n)
    causal = np.tril(full) + 1e-9 * np.tril(np.ones((n, n)))
    causal /= causal.sum(1, keepdims=True)
    chosen = np.array(sorted(draw.draw(st.sets(st.integers(0, n - 1), min_size=2))))
    for attention in (full, causal):
        for queries in (None, chosen):
            try:
                result = affinity(attention.astype(np.float32), queries=queries)
            except Empty:  # all attention on the diagonal, or on what was dropped
                continue
            assert_valid_distribution(result.p)
            assert 0 <= result.mass <= 1
            cut = attention if queries is None else attention[np.ix_(chosen, chosen)]
            pairs = (cut + cut.T) * (1 - np.eye(len(cut)))
            np.testing.assert_allclose(result.p, pairs / pairs.sum(), atol=1e-6)
    cross = rng.dirichlet(np.full(m, sharp), n)
    p = affinity(cross, cross=True).p
    assert_valid_distribution(p)
    assert p.shape == (n + m,) * 2
    assert (p[:n, :n] == 0).all() and (p[n:, n:] == 0).all()
    np.testing.assert_allclose(p[:n, n:] * 2 * n, cross, atol=1e-9)


@pytest.mark.parametrize("name", ["BERT", "GPT-2", "T5"])
def test_p_is_a_valid_distribution_on_models_of_every_kind(small, name):
    model = small(name).model
    result = tsne.heads(model, "The keeper of the light wrote down every ship that passed.", restarts=2, iterations=40)
    assert set(result.layouts) == {(layer.index, head) for layer in model.layers for head in range(layer.heads)}
    reading = read(model, "The keeper of the light wrote down every ship that passed.")
    for layer in model.layers:
        points = result.points[layer.index]
        queries, keys = (len(reading.side(layer.kind, side).text) for side in (True, False))
        assert len(points.text) == (queries + keys if layer.kind == "cross" else queries)
        assert points.query.sum() == queries
        assert all(result.layout(layer.index, head).shape == (len(points.text), 2) for head in range(layer.heads))
    states = tsne.hidden(model, "The keeper of the light wrote down every ship that passed.")
    assert set(states.layouts) == {layer.index for layer in model.layers if layer.kind != "cross"}
    assert all(len(states.layouts[layer]) == len(result.points[layer].text) for layer in states.layouts)
    assert ("causal" in " ".join(result.remarks)) == (name != "BERT")
    assert ("cross attention" in " ".join(result.remarks)) == (name == "T5")


def test_unusual_maps_are_explained():
    n = 12
    even = np.full((n, n), 1 / n)
    assert "attend exactly as another does" in affinity(even).notes[0]
    inward = 0.999 * np.eye(n) + 0.001 * even
    assert any("nearly empty" in note for note in affinity(inward).notes)
    sink = np.zeros((n, n)) + 0.001 / n
    sink[:, 3] += 0.999
    assert any("lies on pairs with 'token 3'" in note for note in affinity(sink).notes)
    blocks = np.kron(np.eye(2), np.full((6, 6), 1 / 6))
    assert any("falls into 2 parts (6, 6 points)" in note for note in affinity(blocks).notes)
    assert affinity(np.random.default_rng(0).dirichlet(np.ones(n), n)).notes == ()
    assert tsne.layouts(affinity(sink).p, restarts=2)[1].max() < np.inf


@pytest.mark.parametrize(
    ("attention", "words"),
    [
        (np.full((3, 3), np.nan), "9 of 9 weights are not numbers"),
        (np.full((3, 3), -1.0), "these are scores"),
        (np.ones((3, 4)) / 4, "say cross=True"),
        (np.ones(3), "queries and keys"),
        (np.zeros((0, 0)), "queries and keys"),
        (np.eye(5), "itself only"),
    ],
)
def test_invalid_maps_give_one_clear_line(attention, words):
    with pytest.raises(DataError, match=re.escape(words)):
        affinity(attention)


def test_words_are_the_sum_over_keys_and_the_mean_over_queries():
    attention = np.random.default_rng(0).dirichlet(np.ones(6), 6)
    words = np.array([-1, 0, 0, 0, 1, -1], np.int32)
    by_word, rows, columns = to_words(attention, words, words)
    groups = [[0], [1, 2, 3], [4], [5]]
    assert rows.tolist() == columns.tolist() == [0, 1, 4, 5]
    for a, queries in enumerate(groups):
        for b, keys in enumerate(groups):
            assert by_word[a, b] == pytest.approx(np.mean([sum(attention[i, j] for j in keys) for i in queries]))


# layouts of a text


def test_heads_of_a_text_are_reproducible_with_any_number_of_threads(model, monkeypatch):
    result = tsne.heads(model, CAT, heads="L0", restarts=8)
    monkeypatch.setattr("headatlas.parallel.cores", lambda: 1)
    repeated = tsne.heads(model, CAT, heads="L0", restarts=8)
    assert all(np.array_equal(result.layouts[head], repeated.layouts[head]) for head in result.layouts)
    assert all(np.array_equal(result.kl[head], repeated.kl[head]) for head in result.kl)
    single = tsne.heads(model, CAT, heads=(0, 2), restarts=8)
    assert np.array_equal(single.kl[0, 2], result.kl[0, 2])  # it does not depend on other heads
    assert result.best(0, 2) == result.kl[0, 2].min()


@pytest.mark.parametrize("text", ["Hi", "Hi there", "Hi there you"])
@pytest.mark.parametrize("special", [True, False])
def test_texts_of_one_to_three_tokens(model, text, special):
    result = tsne.heads(model, text, heads="L0,L5", restarts=3, special=special)
    count = len(text.split()) + 2 * special
    for head, layout in result.layouts.items():
        assert layout.shape == (count, 2) and np.isfinite(layout).all()
        assert (result.kl[head] >= -1e-9).all() and (result.kl[head] < 1).all()


def test_a_text_with_only_special_tokens(model):
    result = tsne.heads(model, "\u200b", heads="L0·H0", restarts=2, special=False)
    assert result.layout(0, 0).shape == (0, 2) and "special=True" in result.notes[0, 0][0]
    for empty in ("", " \n"):
        with pytest.raises(DataError, match="the text is empty"):
            tsne.heads(model, empty)


def test_a_text_of_512_tokens(model, capsys):
    result = tsne.heads(model, "tide " * 600, heads="L1·H3", restarts=1, iterations=8)
    assert result.layout(1, 3).shape == (512, 2) and np.isfinite(result.layout(1, 3)).all()
    assert "longer than the 512 tokens that are read: the last 90 are cut off" in capsys.readouterr().err


def test_heads_can_be_written_in_many_ways(model):
    assert choose(model, "L3·H10") == choose(model, "l3h10") == choose(model, (3, 10)) == [(3, 10)]
    assert choose(model, "L1") == [(1, head) for head in range(12)]
    assert choose(model, [(5, 0), "L0.H1"]) == [(0, 1), (5, 0)]
    assert len(choose(model, "all")) == 72
    for heads in ("all", "L1 L3·H10", "L0·H0 L0·H2"):
        assert spell(choose(model, heads), model.layers) == heads
    for wrong in ("L9", "L0H12", (0, 12), "H3", []):
        with pytest.raises(OptionError):
            choose(model, wrong)


def test_words_in_place_of_pieces(model):
    result = tsne.heads(model, "Antidisestablishmentarianism matters.", heads="L0H0", restarts=1, unit="word")
    assert result.points[0].text == ["[CLS]", "antidisestablishmentarianism", "matters", ".", "[SEP]"]


def test_layouts_are_aligned_and_keep_their_distances():
    rng = np.random.default_rng(0)
    shape = rng.normal(size=(20, 2)).astype(np.float32)
    turned = {}
    for number, angle in enumerate((0.3, 2.0, 4.4)):
        matrix = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) @ np.diag(
            [1, (-1) ** number]
        )
        turned[number] = (shape @ matrix + number).astype(np.float32)
    aligned = align(turned | {9: np.full((20, 2), np.nan, np.float32)})
    for number in (1, 2):
        np.testing.assert_allclose(aligned[number], aligned[0], atol=1e-5)
    distances = [np.linalg.norm(layout[:, None] - layout[None], axis=-1) for layout in (shape, aligned[2])]
    np.testing.assert_allclose(*distances, atol=1e-5)
    assert np.isnan(aligned[9]).all()
    assert np.corrcoef(aligned[0][:, 0], np.arange(20))[0, 1] >= 0
    source, target = (layout - layout.mean(0) for layout in (turned[1], shape))
    np.testing.assert_allclose(source @ rotation(source, target), target, atol=1e-5)


def test_standard_t_sne_of_hidden_states_and_of_words(model, long):
    result = tsne.hidden(model, CAT, layers=[0, 5])
    assert result.layout(5).shape == (len(result.points[5]), 2) and 0 < result.kl[5][0] < 3
    assert "in place of 20" in result.notes[0][0]  # a short text
    repeated = tsne.hidden(model, CAT, layers=[5])
    assert repeated.kl[5][0] == result.kl[5][0]
    hidden_states = model.network(**long.batch.inputs, output_hidden_states=True).hidden_states
    for layer, states in long.hidden.items():
        np.testing.assert_allclose(states, hidden_states[layer + 1][0].detach().numpy(), atol=1e-5)
    jobs = ["nurse", "baker", "pilot", "judge", "smith", "clown", "flight attendant"]
    words = tsne.words(model, jobs, layers=[5])
    assert words.points[5] == jobs and words.layout(5).shape == (7, 2)
    few = tsne.hidden(model, "Hi", layers=[0])
    assert np.isnan(few.kl[0]).all() and "too few" in few.notes[0][0]


# activity


def test_maximum_attention_matches_a_loop(model, long):
    example = next(iter(data.load("sample", limit=1)))
    result = tsne.activity(model, example)
    for layer, maps in enumerate(long.maps):
        for head, attention in enumerate(maps):
            for j in range(0, attention.shape[1], 7):
                assert result.maximum[layer][head, j] == max(attention[i, j] for i in range(len(attention)))
    row = next(row for row in result.rows if (row["layer"], row["head"]) == (3, 4))
    attention, special = long.maps[3][4], long.side("encoder", False).special
    plain = [
        max(attention[i, j] for i in range(len(attention)) if i != j) for j in range(len(attention)) if not special[j]
    ]
    assert row["activity"] == pytest.approx(np.mean(plain)) == head_activity(attention, special)


def test_the_previous_token_head_has_the_longest_chains(model):
    for example in data.load("sample", limit=3):
        ranked = tsne.activity(model, example).ranked("chain")
        rank = next(number for number, row in enumerate(ranked) if (row["layer"], row["head"]) == (0, 2))
        assert rank < 3


def test_chains_end_at_weak_steps_special_tokens_and_circles():
    none = np.zeros(5, bool)
    circle = np.roll(np.eye(5), 1, 1)
    assert chains(circle, none).tolist() == [4] * 5
    assert chains(0.2 * circle, none).tolist() == [0] * 5
    back = np.eye(5, k=-1)
    assert chains(back, np.array([1, 0, 0, 0, 1], bool)).tolist() == [0, 1, 2, 3, 0]
    assert chains(np.eye(5), none).tolist() == [0] * 5


# axes


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=60, unique=True), st.integers(2, 120))
def test_quantile_axes_are_monotone_and_invertible(values, k):
    scale = axis(values, k)
    placed = scale.forward(sorted(values))
    assert placed[0] == 0 and placed[-1] == 1 and (np.diff(placed) >= 0).all()
    np.testing.assert_allclose(scale.inverse(scale.forward(scale.knots)), scale.knots, rtol=1e-6, atol=1e-6)


def test_as_many_quantiles_as_values_give_the_distribution_function_and_two_give_a_linear_axis():
    values = np.random.default_rng(0).lognormal(0, 2, 50)
    np.testing.assert_allclose(axis(values, 50).forward(np.sort(values)), np.linspace(0, 1, 50), atol=1e-12)
    plain = (values - values.min()) / np.ptp(values)
    np.testing.assert_allclose(axis(values, 2).forward(values), plain, atol=1e-12)
    places, labels = axis(values).ticks(5)
    assert places.tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert float(labels[2]) == pytest.approx(np.median(values), rel=0.05)
    assert axis([3.0, 3.0]).forward([3.0])[0] == 0.5
    for wrong in ([], [np.inf]):
        with pytest.raises(DataError):
            axis(wrong)


# command line and figures


def test_commands_print_draw_and_write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = done("tsne", "heads", "packaged", CAT, "--heads", "L0", "--restarts", 2, "-o", "all.png")
    assert "kl_median" in text and (tmp_path / "all.png").stat().st_size > 10_000
    done("tsne", "heads", "packaged", CAT, "--heads", "L0H2", "--restarts", 2, "--quantile", "-o", "one.svg")
    assert "mat" in (tmp_path / "one.svg").read_text()
    done("tsne", "heads", "packaged", CAT, "--heads", "L0H2", "--restarts", 2, "-o", "one.csv")
    assert (tmp_path / "one.csv").read_text().splitlines()[0].replace('"', "") == "layer,head,point,text,query,x,y"
    assert "chain" in done("tsne", "activity", "packaged", CAT, "--by", "chain", "-o", "maximum.png")
    done("tsne", "hidden", "packaged", CAT, "--layer", 2, "--quantile", "-o", "layer.svg")
    assert "as layer 2 of" in (tmp_path / "layer.svg").read_text()
    Path("jobs.txt").write_text("nurse\nbaker\npilot\njudge\nsmith\nclown\n")
    assert "perplexity 1.67" in " ".join(done("tsne", "words", "packaged", "jobs.txt", "-o", "jobs.csv").split())
    assert len(Path("jobs.csv").read_text().splitlines()) == 1 + 6 * 6
    done("tsne", "words", "packaged", "jobs.txt", "--seed", 3, "-o", "jobs.parquet")
    recipe = json.loads(pq.read_schema("jobs.parquet").metadata[b"headatlas"])
    assert recipe["seed"] == 3 and recipe["perplexity"] == 20 and len(recipe["model"]) > 8


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("heads", "packaged", "a b", "--heads", "L77"), "it has 6 layers of 12 heads"),
        (("heads", "packaged", "a b", "-o", "x.doc"), "choose a name that ends in"),
        (("heads", "packaged", "none.txt", "--file"), "cannot be read as text"),
        (("heads", "packaged", "a b", "--restarts", "0"), "at least 1 restart"),
        (("hidden", "packaged", "a b c d e f", "--layer", "9", "-o", "x.png"), "layer 9 was not laid out"),
        (("words", "packaged", "none.txt"), "none.txt"),
        (("activity", "packaged", "a b", "--by", "size"), "choose activity or chain"),
        (("activity", "packaged", "a b", "--strength", "2"), "at most 1"),
    ],
)
def test_mistakes_give_one_line(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    code, _, err = call("tsne", *arguments)
    assert code == 1 and words in " ".join(err.split())
