"""Roles of heads: planted heads, real heads by slow loops, chance that is uniform where there is nothing to find."""

import json

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import kstest

import headatlas as ha
from headatlas.models.encode import Tokens
from headatlas.models.shuffle import shifted
from headatlas.numeric.chance import above_draws, above_level, cumulants
from headatlas.stages.probe import roles
from headatlas.stages.probe.detection import DRAWS, cells, scores, text_rows
from headatlas.stages.probe.detectors import BY_NAME, DETECTORS, REPEATED, detectors_of
from headatlas.stages.probe.key_sets import labels
from headatlas.stages.probe.readings import Reach
from headatlas.stages.probe.repeated import Sequences, repeated_rows
from headatlas.stages.probe.source import ExampleMaps, Source, drawn_examples
from support.commands import done
from support.planted_heads import layer_of, planted, random_text, slow_keys

TEXTS = [example.text for example in ha.data.load("sample", limit=24)]


def slow_score(role, tokens, matrix, causal):
    """Mean mass over queries that have such keys and others; NaN if there are none."""
    masses = []
    for i in range(len(tokens)):
        keys = slow_keys(role, tokens, i, causal)
        if keys and len(keys) < (i + 1 if causal else len(tokens)):
            masses.append(sum(float(matrix[i, j]) for j in keys))
    return np.mean(masses) if masses else np.nan


def found_roles(maps_of, causal, texts=24, heads=1):
    """The table of detectors on random texts; `maps_of` gives the maps of a text."""
    rng = np.random.default_rng(0)
    tables, layer = [], layer_of(heads, causal)
    for number in range(texts):
        encoded = random_text(rng)
        maps = np.stack(maps_of(encoded.source, rng)).astype(np.float32)
        draws = [shifted(encoded, 0, number, draw) for draw in range(DRAWS)]
        tables += text_rows(ExampleMaps(number, encoded, [maps]), [layer], draws)
    return roles.with_roles(roles.tested([layer], pa.concat_tables(tables), np.arange(texts))).to_pandas()


# roles whose keys are, for some queries, those of another
ALSO = {
    "previous": {"local"},
    "next": {"local"},
    "sentence": {"local", "previous", "next"},
    "local": {"previous", "next"},
}


@pytest.mark.parametrize("causal", [True, False])
def test_a_planted_head_is_the_only_one_found(causal):
    names = [detector.name for detector in detectors_of("causal" if causal else "bidirectional")]
    heads = [*names, None, None, None]
    table = found_roles(
        lambda tokens, rng: [planted(name, tokens, causal, rng) for name in heads], causal, heads=len(heads)
    )
    for number, name in enumerate(heads):
        roles = set(table[table.role & (table["head"] == number)].detector)
        assert roles - ALSO.get(name, set()) == ({name} if name else set()), name
    assert set(table.detector) == set(names)


def test_without_keys_there_is_no_score():
    table = found_roles(lambda tokens, rng: [planted("first", tokens, True, rng)], True, texts=2)
    assert table.p.isna().all() and table.q.isna().all() and not table.role.any() and table.low.isna().all()
    assert (table.score > table.chance)[table.detector == "first"].all()


def test_neighbors_do_not_count_as_induction():
    """In a text of pairs a b a b, the next token has followed this one before."""
    ids = np.tile(np.arange(10, 14, dtype=np.int32), 8)
    zeros = np.zeros(len(ids), np.int32)
    tokens = Tokens(ids, ["x"] * len(ids), zeros, zeros > 0, zeros.astype(np.int8), zeros, zeros)
    known = labels(tokens)
    for name in ("induction", "mirror", "copy"):
        keys = BY_NAME[name].keys(known, known)
        assert keys.any() and not (keys & (np.abs(np.subtract.outer(range(32), range(32))) <= 1)).any()
    table = found_roles(lambda tokens, rng: [planted("next", tokens, False, rng)], False)
    assert set(table[table.role].detector) == {"next", "local"}


def test_key_sets_are_those_of_slow_loops():
    rng = np.random.default_rng(3)
    for causal in (True, False):
        tokens = random_text(rng, frame=not causal).source
        known, n = labels(tokens), len(tokens)
        allowed = Reach(causal, n, n).allowed(n, n)
        for detector in detectors_of("causal" if causal else "bidirectional"):
            keys = detector.keys(known, known) & allowed
            for i in range(n):
                assert np.flatnonzero(keys[i]).tolist() == slow_keys(detector.name, tokens, i, causal), detector.name


def test_a_window_limits_what_counts():
    mask = Reach(True, 2, 0).allowed(5, 5)
    assert mask.sum(1).tolist() == [1, 2, 3, 3, 3]
    keys = np.zeros((5, 5), bool)
    keys[:, 0] = True
    own = cells(keys, mask)
    assert own.queries == 2 and own.even == pytest.approx((1 / 2 + 1 / 3) / 2)  # query 0 has no choice, 3 and 4 no key


# --- real models


@pytest.fixture(scope="module")
def atlas(tmp_path_factory):
    return ha.collect.maps("packaged", TEXTS, tmp_path_factory.mktemp("detect") / "x.atlas", resolution=8, qk_tokens=0)


def compare(atlas, model, causal, heads, numbers):
    source = Source(atlas, numbers, model)
    examples = sorted(source.maps(numbers), key=lambda each: each.number)
    table = ha.probe.detect(atlas, examples=len(numbers), repeats=0, model=model).to_pandas()
    known = table.set_index(["layer", "head", "detector"])
    compared = 0
    for layer, head in heads:
        for detector in detectors_of("causal" if causal else "bidirectional"):
            values = np.array(
                [slow_score(detector.name, e.encoded.source, e.maps[layer][head], causal) for e in examples]
            )
            row = known.loc[layer, head, detector.name]
            assert row["texts"] <= np.isfinite(values).sum()
            if row["texts"] == np.isfinite(values).sum() > 0:
                assert row["score"] == pytest.approx(np.nanmean(values), abs=1e-5), detector.name
                compared += 1
    return compared


def test_real_heads_by_slow_loops(atlas):
    assert compare(atlas, None, False, [(0, 2), (3, 7)], drawn_examples(atlas, 3, 0)) >= 2 * 9


@pytest.mark.parametrize("family", ["GPT-2", "Llama"])
def test_random_causal_heads_by_slow_loops(family, small, tmp_path):
    model = small(family).model
    atlas = ha.collect.maps(model, TEXTS[:3], tmp_path / "x.atlas", resolution=8, qk_tokens=0, max_tokens=48)
    assert compare(atlas, model, True, [(0, 1), (1, 3)], [0, 1, 2]) >= 2 * 7
    table = ha.probe.detect(atlas, examples=3, repeats=3, model=model).to_pandas()
    assert set(table[table.on == REPEATED].detector) == {"duplicate", "induction"}
    assert not {"next", "mirror"} & set(table.detector)


def test_chance_is_the_mean_over_shifted_tokens(atlas):
    number = drawn_examples(atlas, 1, 0)[0]
    example = next(Source(atlas, [number]).maps([number]))
    readings = [shifted(example.encoded, 0, number, draw).source for draw in range(DRAWS)]
    assert all(sorted(each.ids) == sorted(example.encoded.source.ids) for each in readings)
    expected = np.nanmean([slow_score("duplicate", each, example.maps[2][9], False) for each in readings])
    table = ha.probe.detect(atlas, examples=1, repeats=0).to_pandas()
    row = table[(table.layer == 2) & (table["head"] == 9) & (table.detector == "duplicate")]
    assert row["chance"].item() == pytest.approx(expected, abs=1e-5)
    assert row["score"].item() > 5 * row["chance"].item()


def test_a_published_head_of_minilm(atlas):
    table = ha.probe.detect(atlas, repeats=20).to_pandas()
    previous = table[table.detector == "previous"].sort_values("score").iloc[-1]
    assert (previous["layer"], previous["head"]) == (0, 2) and previous["score"] > 0.9 and previous["role"]
    own = table[(table.layer == 0) & (table["head"] == 2) & table.role]
    assert set(own.detector) == {"previous", "local"}
    assert (table.low <= table.score + 1e-12).all() and (table.q >= table.p).all()
    assert (
        not table[(table.layer == 1) & (table["head"] == 8) & table.role].detector.eq("induction").any()
    )  # next token


def test_a_published_head_of_smollm2(real, tmp_path):
    model = real("smollm2")
    atlas = ha.collect.maps(model, TEXTS[:1], tmp_path / "x.atlas", resolution=8, qk_tokens=0, max_tokens=32)
    table = ha.probe.detect(atlas, repeats=20).to_pandas()
    induction = table[(table.detector == "induction") & (table.on == REPEATED)].sort_values("score").iloc[-1]
    assert (induction["layer"], induction["head"]) == (18, 6) and induction["score"] > 0.8 and induction["role"]
    assert table[table.on == "texts"].p.isna().all()  # one text
    assert "L18.H6" in ha.probe.heads_json(atlas)["heads"]


def test_one_text_is_too_few():
    atlas = ha.collect.maps("packaged", TEXTS[:1], "memory://detect-one.atlas", resolution=8, qk_tokens=0)
    table = ha.probe.detect(atlas, repeats=0).to_pandas()
    assert table.score.notna().any() and table.p.isna().all() and not table.role.any()
    assert atlas.facts("probe", "detect")["few"] and "1 text, too few to test for roles" in str(atlas)


def test_images_have_roles_by_place(images):
    table = ha.probe.detect(images, examples=2).to_pandas()
    assert {"self", "local"} <= set(table.detector) <= {detector.name for detector in DETECTORS if detector.image}
    source = Source(images, drawn_examples(images, 2, 0))
    grid, values = source.model.grid, []
    special = len(grid.special)
    for example in source.maps(source.numbers):
        masses = []
        for i in range(grid.rows * grid.columns):
            row, column = divmod(i, grid.columns)
            around = [
                special + y * grid.columns + x
                for y in range(max(row - 1, 0), min(row + 2, grid.rows))
                for x in range(max(column - 1, 0), min(column + 2, grid.columns))
                if (y, x) != (row, column)
            ]
            masses.append(example.maps[1][0][special + i, around].astype(float).sum())
        values.append(np.mean(masses))
    row = table[(table.layer == 1) & (table["head"] == 0) & (table.detector == "local")]
    assert row["score"].item() == pytest.approx(np.mean(values), abs=1e-5)


def test_roles_as_json(atlas, tmp_path):
    ha.probe.detect(atlas, repeats=20)
    roles = ha.probe.heads_json(atlas)
    assert set(roles) == {"model", "dataset", "recipe", "heads"} and roles["model"]["name"] == "all-MiniLM-L6-v2"
    first = roles["heads"]["L0.H2"][0]
    assert first["role"] == "previous" and first["name"] == "previous-token head" and first["q"] < 0.05
    assert first["interval"][0] < first["score"] < first["interval"][1] and first["chance"] < 0.1
    assert json.loads(done("probe", "heads-json", atlas.files.url)) == json.loads(json.dumps(roles))
    counts = atlas.facts("probe", "detect")["roles"]
    listed = {(name, role["role"]) for name, entries in roles["heads"].items() for role in entries}
    assert {role: sum(each == role for _, each in listed) for role in counts} == counts


# --- repeated random tokens


def test_repeated_tokens(atlas):
    sequences = Sequences(ha.models.load("packaged"), 0)
    distances = set()
    for number in range(20):
        tokens = sequences.draw(number).source
        ids = tokens.ids[~tokens.special]
        assert len(ids) == 64 and tokens.ids[0] == 101 and tokens.ids[-1] == 102
        copied = 64 - len(set(ids.tolist()))
        assert 16 <= copied <= 32 and (ids[-copied:] == ids[-2 * copied : -copied]).all()
        distances.add(copied)
    assert len(distances) > 5
    again = repeated_rows(Source(atlas, [0]), 2, 0)
    assert again.equals(repeated_rows(Source(atlas, [0]), 2, 0)) and again.num_rows == 2 * 72 * 3


def test_a_fixed_offset_is_not_induction():
    """A head that looks 24 tokens back finds the first copy by luck only."""
    sequences, layer, tables = Sequences(ha.models.load("packaged"), 0), layer_of(2, False), []
    for number in range(24):
        encoded = sequences.draw(number)
        fixed, follows = np.full((2, 66, 66), 1e-3)
        for i in range(66):
            fixed[i, max(0, i - 24)] = 1
            for j in slow_keys("induction", encoded.source, i, False):
                follows[i, j] = 1
        maps = np.stack([fixed, follows])
        maps = (maps / maps.sum(-1, keepdims=True)).astype(np.float32)
        draws = [sequences.draw(number, draw) for draw in range(1, DRAWS + 1)]
        tables += text_rows(ExampleMaps(number, encoded, [maps]), [layer], draws, REPEATED)
    table = roles.with_roles(roles.tested([layer], pa.concat_tables(tables), np.arange(24), REPEATED)).to_pandas()
    assert set(zip(table[table.role].detector, table[table.role]["head"], strict=True)) == {("induction", 1)}


# --- chance


def near_map(rng, n):
    """A map by distance alone, with a little noise: what a head does that does not read tokens."""
    away = np.subtract.outer(np.arange(n), np.arange(n))
    weight = np.exp(-np.abs(away - rng.integers(-8, 9)) / rng.uniform(1, 8)) * rng.uniform(0.5, 1.5, (n, n))
    return (weight / weight.sum(-1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("name", ["duplicate", "punctuation", "sentence", "induction"])
def test_p_is_uniform_where_there_is_nothing_to_find(name):
    rng = np.random.default_rng(7)
    ps = []
    for trial in range(60):  # fresh texts for every head, since heads on the same texts would not be independent
        excess, chance = [], []
        for number in range(20):
            encoded = random_text(rng, 30)
            n = len(encoded.source)
            allowed = np.ones((n, n), bool)
            readings = [encoded, *(shifted(encoded, trial, number, draw) for draw in range(DRAWS))]
            drawn = [cells(BY_NAME[name].keys(known, known), allowed) for known in (labels(e.source) for e in readings)]
            if drawn[0] is None:
                continue
            values = scores(near_map(rng, n).reshape(-1, 1), [each for each in drawn if each is not None])
            numbers = cumulants(values[:, 1:])
            excess.append(values[:, 0] - numbers[0])
            chance.append(numbers[1:])
        known = np.stack(chance, 1)
        ps.append(float(above_draws(np.array(excess), known, np.arange(len(excess)), 10)[0]))
    assert kstest(ps, "uniform").pvalue > 0.01, np.sort(ps)


def test_p_against_even_attention_is_uniform():
    rng = np.random.default_rng(1)
    excess = rng.dirichlet(np.ones(12), size=(20, 400, 10))[..., 3].mean(-1) - 1 / 12  # text, head
    p = above_level(excess, np.arange(20), 20)
    assert kstest(p, "uniform").pvalue > 0.01
    assert np.isnan(above_level(excess[:19], np.arange(19), 20)).all()
    assert (above_level(np.ones((20, 1)), np.arange(20), 20) == 0.5**20).all()


def test_texts_of_one_source_count_once():
    rng = np.random.default_rng(2)
    excess, chance = rng.normal(0.5, 1, (20, 5)), np.stack([np.ones((20, 5)), np.full((20, 5), 0.3)])
    once = above_draws(excess, chance, np.arange(20), 20)
    twice = above_draws(np.repeat(excess, 2, 0), np.repeat(chance, 2, 1), np.arange(40) // 2, 20)
    assert twice == pytest.approx(once) and (once > above_draws(np.repeat(excess, 2, 0), np.repeat(chance, 2, 1),
                                                               np.arange(40), 20)).all()  # fmt: skip


def test_tails_are_those_of_many_draws():
    rng = np.random.default_rng(4)
    draws = rng.gamma(0.5, size=(20, 64))  # text, draw: very skewed
    known = cumulants(draws)
    sums = (rng.gamma(0.5, size=(200_000, 20)) - known[0]).sum(1)
    for level in (0.1, 0.01, 0.001):
        total = np.quantile(sums, 1 - level)
        p = above_draws(np.full((20, 1), total / 20), known[1:, :, None], np.arange(20), 20)[0]
        assert level / 2 < p < level * 2
