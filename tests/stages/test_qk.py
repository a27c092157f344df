"""Queries and keys in one space: unchanged attention, the right scales and trust, and what is stored in the atlas."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

import headatlas as ha
from headatlas.atlas import schema
from headatlas.errors import OptionError, StoreError
from headatlas.numeric.neighborhoods import neighborhoods
from headatlas.stages.qk import notes
from headatlas.stages.qk.colorings import COLORINGS
from headatlas.stages.qk.correlation import (
    Pairs,
    choose_scale,
    correlation_of_queries,
    rank_correlation,
    weighted_correlation,
)
from headatlas.stages.qk.embedding import NUMBERS, embed_head
from headatlas.stages.qk.head_map import shape_of
from headatlas.stages.qk.points import choose_points
from headatlas.stages.qk.tables import head_maps
from headatlas.stages.qk.transform import closed_form, scaled, translated

TEXTS = ["The cat sat on the mat.", "It slept, then it ate.", "Who rang the bell? A man rang it.", "Rain fell."]


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    path = tmp_path_factory.mktemp("qk") / "x.atlas"
    return ha.collect.maps("packaged", TEXTS, path, resolution=8)


@pytest.fixture(scope="module")
def drawn(collected):
    ha.qk.embed(collected, "pca")
    return collected


def vectors(count, width, seed=0, spread=1.0):
    return (np.random.default_rng(seed).normal(size=(count, width)) * spread).astype(np.float32)


def test_every_array_and_table_is_filled(drawn):
    tokens = drawn.table("tokens").num_rows
    declared = schema.STAGES["qk"]
    for array in declared.arrays:
        values = drawn.read(array.name, of="pca")
        assert values.shape[:2] == (6, 12) and np.isfinite(values).all(), array.name
    assert drawn.read("qk_position", of="pca").shape == (6, 12, 2 * tokens, 2)
    points, heads = drawn.table("qk_points", "pca").to_pydict(), drawn.table("qk_heads", "pca")
    assert points["token"] == list(range(tokens))
    assert points["example"] == drawn.table("tokens")["example"].to_pylist()
    assert heads.num_rows == 72 and set(heads["note"].to_pylist()) == {""}
    assert drawn.table("qk_map", "pca").num_rows == 144 and drawn.table("qk_related", "pca").num_rows == 720
    assert "PCA of 72 heads" in str(drawn)


def test_trust_and_kept_neighbors_match_slow_loops():
    high, low = vectors(90, 6), vectors(90, 2, seed=1)
    low[:50] = high[:50, :2]
    for k in (1, 5, 15):
        preserved = neighborhoods(high, low, k)
        for values, slow in zip(preserved, slow_neighborhoods(high, low, k), strict=True):
            assert values == pytest.approx(slow, abs=1e-5)


def slow_neighborhoods(high, low, k):
    """Trust, continuity and kept neighbors by their definitions, one point at a time."""
    n, rows = len(high), []
    for i in range(n):
        orders = []
        for values in (high, low):
            distance = np.linalg.norm(values - values[i], axis=1)
            orders.append([j for j in np.argsort(distance) if j != i])
        true, drawn = orders
        worst = k * (2 * n - 3 * k - 1) / 2
        trust = 1 - sum(max(0, true.index(j) + 1 - k) for j in drawn[:k]) / worst
        continuity = 1 - sum(max(0, drawn.index(j) + 1 - k) for j in true[:k]) / worst
        rows.append((trust, continuity, len({*true[:k]} & {*drawn[:k]}) / k))
    return np.array(rows).T


def test_the_scale_is_never_worse_than_none_and_than_the_closed_form():
    for seed in range(12):
        rng = np.random.default_rng(seed)
        spread = np.exp(rng.normal(size=2))
        query, key = (vectors(200, 8, 10 * seed + n, spread[n]) * np.exp(vectors(200, 1, seed + 5)) for n in (0, 1))
        moved, _ = translated(query, key)
        choice = choose_scale(query, moved)
        pairs = Pairs.of(query, moved, 0)
        assert choice.spearman <= min(choice.spearman_unscaled, choice.spearman_closed_form)
        assert choice.correlation == correlation_of_queries(pairs, choice.scale)
        closed = closed_form(query, moved)
        assert choice.spearman_closed_form == rank_correlation(pairs, closed)


def test_correlations_match_scipy_on_the_vectors_themselves():
    query, key = vectors(60, 8), vectors(50, 8, 1, 3)
    moved, _ = translated(query, key)
    choice = choose_scale(query, moved)
    for scale, reached in ((choice.scale, choice.spearman), (1, choice.spearman_unscaled)):
        near, near_keys = scaled(query, moved, scale)
        distance = np.linalg.norm(near[:, None].astype(float) - near_keys[None], axis=-1)
        assert reached == pytest.approx(spearmanr(distance.ravel(), (query @ moved.T).ravel())[0], abs=1e-4)


@pytest.mark.parametrize("scale", [0.3, 1.0, 2.0])
def test_the_weighted_correlation_matches_numpy(scale):
    pairs = Pairs.all(vectors(48, 8) + 3, vectors(40, 8, 1, 2))
    squared = pairs.squared_distances(scale)
    weight = 1 / (squared + 1e-3 * np.median(squared[::4, ::4]))
    covariance = np.cov(np.sqrt(squared).ravel(), pairs.product.ravel(), aweights=weight.ravel(), ddof=0)
    expected = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
    assert weighted_correlation(pairs, scale) == pytest.approx(expected, abs=1e-9)


def test_equal_distances_share_a_rank():
    query, key = np.repeat(vectors(9, 4), 5, 0), np.repeat(vectors(7, 4, 1), 6, 0)
    pairs = Pairs.all(query, key)
    expected = spearmanr(pairs.squared_distances(1.3).ravel(), pairs.product.ravel())[0]
    assert rank_correlation(pairs, 1.3) == pytest.approx(expected, abs=1e-12)
    assert np.isnan(rank_correlation(Pairs.all(query, 0 * key), 1.0))


def test_correlations_of_queries_match_a_slow_loop():
    query, key = vectors(30, 8), vectors(40, 8, 1, 2)
    pairs = Pairs.of(query, key, 0)
    squared = ((query[:, None] - key) ** 2).sum(-1).astype(float)
    weight, slow = 1 / (squared + 1e-3 * np.median(squared)), []
    for row in range(len(query)):
        covariance = np.cov(np.sqrt(squared[row]), query[row] @ key.T, aweights=weight[row], ddof=0)
        slow.append(covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1]))
    assert correlation_of_queries(pairs, 1.0) == pytest.approx(np.mean(slow), abs=1e-4)


def test_a_head_whose_keys_are_all_equal():
    plot = embed_head(vectors(40, 8), np.ones((40, 8), np.float32), "pca", 2, 0)
    assert plot.facts["note"] == notes.SAME_KEYS
    assert np.isfinite(plot.position).all() and plot.facts["scale"] > 0
    same = embed_head(np.ones((40, 8), np.float32), np.ones((40, 8), np.float32), "tsne", 2, 0)
    assert (same.position == 0).all() and np.isnan(same.facts["correlation"]) and np.isnan(same.facts["spearman"])


@pytest.mark.parametrize("method", ["tsne", "umap", "pca"])
@pytest.mark.parametrize("tokens", [2, 3, 8])
def test_fewer_points_than_neighbors(method, tokens):
    plot = embed_head(vectors(tokens, 8), vectors(tokens, 8, 1), method, 2, 0)
    assert plot.position.shape == (2 * tokens, 2) and np.isfinite(plot.position).all()
    assert 0 <= plot.facts["kept"] <= 1 and plot.facts["note"] == ""


def test_rows_without_vectors_are_no_points():
    query, key = vectors(40, 8), vectors(40, 8, 1)
    expected = embed_head(query[:30], key[10:], "pca", 2, 0)
    query[30:], key[:10] = np.nan, np.nan
    plot = embed_head(query, key, "pca", 2, 0)
    shown = np.repeat([True, False, True], [30, 20, 30])
    for field in ("position", "trust", "kept", "norm"):
        values = getattr(plot, field).reshape(80, -1)
        assert (np.isfinite(values).all(1) == shown).all()
        assert (values[shown] == getattr(expected, field).reshape(60, -1)).all()
    assert plot.facts == pytest.approx(expected.facts, nan_ok=True)
    key[20] = np.inf
    assert embed_head(query, key, "pca", 2, 0).facts["note"] == notes.INFINITE
    nothing = embed_head(np.full_like(query, np.nan), key, "tsne", 3, 0)
    assert nothing.position.shape == (80, 3) and "too few" in nothing.facts["note"]


@pytest.mark.parametrize("method", ["tsne", "umap"])
@pytest.mark.parametrize("dims", [2, 3])
def test_neighbors_stay_neighbors(method, dims):
    groups = vectors(6, 8, 3, 8).repeat(20, 0)
    query, key = groups + vectors(120, 8, 1), groups + vectors(120, 8, 2)
    plot, again = (embed_head(query, key, method, dims, seed=0) for _ in range(2))
    assert plot.position.shape == (240, dims) and (plot.position == again.position).all()
    assert plot.facts["trust"] > 0.9 and plot.facts["continuity"] > 0.9 and plot.facts["spearman"] < -0.5
    assert np.isfinite(plot.facts["kl"]) == (method == "tsne")


def test_few_points_shrink_the_perplexity_and_say_so(collected, capfd):
    points = ha.qk.embed(collected, tokens=5)
    tokens = points.shape[2] // 2
    assert "perplexity" in capfd.readouterr().err
    assert collected.facts("qk", "tsne")["perplexity"] == round((2 * tokens - 1) / 3, 3)
    assert np.isfinite(points[:]).all()


def test_a_part_of_the_tokens_is_whole_examples(collected):
    lengths = np.bincount(collected.table("tokens")["example"].to_numpy())
    for tokens in (2, 12, 20, 10**6):
        points = choose_points(collected, tokens, seed=1)
        assert len(points) == lengths[points.examples].sum()
        assert len(points) <= tokens or len(points.examples) == 1
        assert (np.diff(points.token) > 0).all() and (np.diff(points.row) > 0).all()
    draws = {tuple(choose_points(collected, 12, seed).examples) for seed in range(8)}
    assert len(draws) > 1


def test_columns_to_color_by(drawn):
    points, tokens = drawn.table("qk_points", "pca").to_pydict(), drawn.table("tokens").to_pydict()
    declared = [coloring.name for coloring in COLORINGS if "text" in coloring.modalities]
    assert [*points][:3] == ["example", "position", "token"]
    assert [*points][3:] == [name for name in declared if name not in ("position", "part_of_speech")]
    assert points["position_mod_5"] == [position % 5 for position in tokens["position"]]
    assert points["frequency"] == [tokens["id"].count(token) for token in tokens["id"]]
    rows = {name: values[:9] for name, values in points.items()}  # [CLS] the cat sat on the mat . [SEP]
    assert rows["sentence_position"] == [-1, 0, 1, 2, 3, 4, 5, 6, -1]
    assert rows["token_length"] == [0, 3, 3, 3, 2, 3, 3, 1, 0]
    assert rows["punctuation"] == [False] * 7 + [True, False]
    assert rows["special"] == [True] + [False] * 7 + [True]


def test_parts_of_speech_of_a_treebank(tmp_path):
    words = [("Ann", "PROPN"), ("sang", "VERB"), ("unbelievably", "ADV"), (".", "PUNCT")]
    lines = [f"{n}\t{form}\t_\t{upos}\t_\t_\t0\troot\t_\t_" for n, (form, upos) in enumerate(words, 1)]
    file = tmp_path / "x.conllu"
    assert len(ha.models.load("packaged").tokenizer.tokenize("unbelievably")) > 1
    file.write_text("\n".join([*lines, "", ""]))
    atlas = ha.collect.maps("packaged", ha.data.load(f"conllu:{file}"), tmp_path / "x.atlas", resolution=8)
    ha.qk.embed(atlas, "pca")
    found = atlas.table("qk_points")["part_of_speech"].to_pylist()
    assert found[:3] == [None, "PROPN", "VERB"] and found[-2:] == ["PUNCT", None] and {*found[3:-2]} == {"ADV"}


def test_related_heads_and_their_map():
    heads = [(0, 0), (0, 1), (1, 0), (1, 1)]
    values = np.array([[0.0, 0.0], [0.1, 0.0], [3.0, 3.0], [np.nan, 1.0]])
    placed, related = head_maps({"embedding": values}, heads, seed=0)
    assert [(row["layer"], row["head"]) for row in placed.to_pylist()] == heads[:3]
    first = [row for row in related.to_pylist() if row["rank"] == 0]
    assert [(row["other_layer"], row["other_head"]) for row in first] == [(0, 1), (0, 0), (0, 1)]
    assert first[0]["distance"] == pytest.approx(0.1)


def test_the_shape_of_a_head_does_not_depend_on_rotation():
    query, key = vectors(90, 6), vectors(90, 6, 1)
    turn = np.linalg.qr(vectors(6, 6, 2).astype(float))[0]
    assert shape_of(query, key) == pytest.approx(shape_of(query @ turn * 3 + 1, key @ turn * 3 + 1), abs=2e-3)
    slow = spearmanr(pdist_of(query, key), pdist_of(query, key * 2))[0]
    assert (shape_of(query, key) * shape_of(query, key * 2)).mean() == pytest.approx(slow, abs=1e-3)


def pdist_of(query, key):
    """Distances among evenly spaced queries and keys, by a slow loop."""
    chosen = np.linspace(0, 89, 64).round().astype(int)
    points = np.concatenate([query[chosen], key[chosen]]).astype(float)
    return [np.linalg.norm(points[i] - points[j]) for i in range(len(points)) for j in range(i + 1, len(points))]


def outcome(path, **options):
    atlas = ha.open(path)
    ha.qk.embed(atlas, "pca", **options)
    arrays = [atlas.read(array.name).tobytes() for array in schema.STAGES["qk"].arrays]
    return arrays, atlas.table("qk_heads"), atlas.facts("qk", "pca")


def test_processes_and_a_dask_cluster_change_nothing(collected, tmp_path):
    paths = [shutil.copytree(collected.files.url, tmp_path / f"{n}.atlas") for n in range(3)]
    here = outcome(paths[0])
    assert outcome(paths[1], workers=2) == here
    import distributed

    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as workers:
        assert outcome(paths[2], scheduler=workers.scheduler_address) == here


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "mds"}, "method 'mds': choose tsne, umap or pca"),
        ({"dims": 4}, "dims 4: choose 2 or 3"),
        ({"tokens": 1}, "tokens 1: give a whole number of at least 2"),
        ({"seed": -1}, "cannot be negative"),
    ],
)
def test_mistakes_are_explained_in_one_line(collected, options, words):
    with pytest.raises(OptionError, match=words) as caught:
        ha.qk.embed(collected, **options)
    assert "\n" not in str(caught.value)


def test_an_atlas_without_vectors_says_which_command_stores_them(tmp_path):
    atlas = ha.collect.maps("packaged", TEXTS[:1], tmp_path / "x.atlas", resolution=8, qk_tokens=0)
    with pytest.raises(StoreError, match=r"headatlas collect .* --qk-tokens 20000") as caught:
        ha.qk.embed(atlas)
    assert "\n" not in str(caught.value)


def test_the_docs_list_every_column():
    page = (Path(__file__).parents[2] / "docs" / "qk.md").read_text()
    for coloring in COLORINGS:
        where = "texts and images" if len(coloring.modalities) == 2 else f"{coloring.modalities[0]}s"
        assert f"| `{coloring.name}` | {where} | {coloring.definition} |\n" in page
    for name in NUMBERS:
        assert f"`{name}`" in page
