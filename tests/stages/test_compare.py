"""Comparisons: planted changes are found, numbers equal slow loops, heads are matched, and mistakes are explained."""

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import jensenshannon

import headatlas as ha
from headatlas import compare
from headatlas.atlas.schema import NOISE
from headatlas.compare import tables
from headatlas.compare.compared import open_collections
from headatlas.compare.divergence import shifts
from headatlas.compare.matching import by_place
from headatlas.compare.measured import Design, Measured
from headatlas.stages.cluster.membership import read_clusters
from headatlas.statistics import statistic
from headatlas.wording.thresholds import CHANGED as LEAST
from support.comparisons import CHANGED, TEXTS, collected, models_folder, network
from support.planted import STATS, drawn, planted


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return models_folder(tmp_path_factory)


@pytest.fixture(scope="module")
def made(home):
    """The first atlas with a comparison beside two seeds."""
    seeds = [home / f"seed{seed}.atlas" for seed in (2, 3)]
    compare.models(home / "base.atlas", home / "tuned.atlas", noise=seeds, examples=5)
    return ha.open(home / "base.atlas")


@pytest.fixture(scope="module")
def after(home):
    return ha.open(home / "tuned.atlas")


def rows(atlas, table, of="tuned"):
    return atlas.table(table, of).to_pylist()


# what is found


def test_a_planted_change_is_found_and_no_other(made):
    heads = rows(made, "compare_heads")
    assert [(row["layer"], row["head"]) for row in heads if row["changed"]] == [CHANGED]
    most = max(heads, key=lambda row: row["excess"])
    assert (most["layer"], most["head"]) == CHANGED and most["excess_low"] > LEAST and most["q"] < 1e-6
    assert most["shift"] > most["noise_most"] >= most["noise"] > 0
    assert made.facts("compare", "tuned")["changed"] == [1]
    layers = rows(made, "compare_layers")
    assert [row["changed"] for row in layers] == [0, 1] and [row["heads"] for row in layers] == [4, 4]
    lines = compare.summary(made).splitlines()
    assert lines[0] == "tuned: base → tuned, on 24 examples, beside two seeds"
    assert lines[2] == "1 of 8 heads changed more than between seeds" and lines[3].startswith("L1·H2, shift 0.")


def synthetic(design, rng, moved):
    """Shifts of a step and a seed whose maps differ from those of the first by noise alone, but for one head."""
    examples, heads, r = TEXTS, design.slots, 8
    base = rng.dirichlet(np.full(r, 0.5), (examples, heads, r))
    other = base.copy()
    other[:, moved] = np.roll(base[:, moved], 1, -1)
    maps = [each + 0.2 * rng.dirichlet(np.full(r, 0.5), each.shape[:-1]) for each in (base, other, other)]
    return {1: shifts(maps[0], maps[1]), 2: shifts(maps[1], maps[2])}


@pytest.fixture(scope="module")
def design(tmp_path_factory):
    """Three atlases of 16 heads on 24 texts: one step and one seed."""
    folder = tmp_path_factory.mktemp("design")
    paths = [folder / f"{name}.atlas" for name in "abn"]
    for seed, path in enumerate(paths):
        planted(path, drawn(np.ones((2, 8, 5)), TEXTS), seed=seed)
    compared = open_collections(paths[0], [paths[1]], [paths[2]], None)
    return Design(compared, (by_place(16),), (True,), np.arange(TEXTS))


def test_in_19_of_20_draws_only_the_planted_head_changed_and_p_of_the_others_is_uniform(design):
    exact, p = 0, []
    for draw in range(20):
        measured = Measured(design)
        measured.add_shifts(range(TEXTS), synthetic(design, np.random.default_rng(draw), moved=draw % 16))
        moved = tables.moved(measured, 0)
        assert moved.excess.mean.argmax() == draw % 16
        exact += [slot for slot, changed in enumerate(moved.changed) if changed] == [draw % 16]
        p += np.delete(moved.p, draw % 16).tolist()
    assert exact >= 19
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_without_seeds_nothing_is_tested_and_heads_are_ranked_by_shift(home):
    base = home / "base.atlas"
    table = compare.models(base, home / "tuned.atlas", name="alone").to_pylist()
    for name in ("noise", "excess", "p", "q", "changed"):
        assert {row[name] for row in table} == {None}
    lines = compare.findings(base, "alone")
    assert lines[0].startswith("no seeds to compare with") and lines[1].startswith("L1·H2, shift 0.")


def test_few_texts_are_not_tested(tmp_path):
    texts = ha.data.load("sample", limit=3)
    paths = [tmp_path / f"{name}.atlas" for name in "abn"]
    for path, seed in zip(paths, (None, 1, 2), strict=True):
        collected(path, network(seed=seed), texts)
    rows = compare.models(paths[0], paths[1], noise=[paths[2]]).to_pylist()
    assert all(row["excess"] is not None and row["excess_low"] is None and row["q"] is None for row in rows)
    assert "too few texts to test (3, 20 are needed)" in compare.summary(paths[0])
    assert all(row["p"] is None and row["low"] is None for row in ha.open(paths[0]).table("compare_stats").to_pylist())


# numbers against slow loops


def test_shifts_equal_a_slow_loop(made, after):
    first, second = (atlas.read("pooled").astype(np.float64) for atlas in (made, after))
    slow = np.empty(first.shape[:3])
    for place in np.ndindex(slow.shape):
        pairs = zip(first[place], second[place], strict=True)
        slow[place] = np.mean([jensenshannon(p, q, base=2) ** 2 for p, q in pairs])
    for row in rows(made, "compare_heads"):
        values = slow[:, row["layer"], row["head"]]
        assert row["shift"] == pytest.approx(values.mean(), abs=1e-6)
        low, high = stats.t.interval(0.95, TEXTS - 1, values.mean(), stats.sem(values))
        assert (row["shift_low"], row["shift_high"]) == (pytest.approx(low, abs=1e-6), pytest.approx(high, abs=1e-6))
    for row in rows(made, "compare_layers"):
        assert row["shift"] == pytest.approx(slow[:, row["layer"]].mean(), abs=1e-6)
    for row in rows(made, "compare_examples"):
        assert row["shift"][0] == pytest.approx(slow[row["example"]].mean(), abs=1e-6)


def test_the_excess_is_paired_and_its_p_one_sided(made, home):
    maps = [ha.open(home / f"{name}.atlas").read("pooled") for name in ("base", "tuned", "seed2", "seed3")]
    layers, heads = maps[0].shape[1:3]
    flat = [each.reshape(TEXTS, layers * heads, 8, 8) for each in maps]
    noise = np.stack([shifts(flat[1], flat[2]), shifts(flat[1], flat[3])])
    excess = shifts(flat[0], flat[1]) - noise.mean(0)
    p = stats.ttest_1samp(excess, 0, alternative="greater").pvalue
    q = stats.false_discovery_control(np.maximum(p, 0.5**TEXTS))
    for slot, row in enumerate(rows(made, "compare_heads")):
        assert row["excess"] == pytest.approx(excess[:, slot].mean(), abs=1e-6)
        assert row["noise_most"] == pytest.approx(noise[:, :, slot].mean(1).max(), abs=1e-6)
        assert row["q"] == pytest.approx(q[slot], rel=0.01, abs=1e-6)


def test_statistics_are_paired(made, after):
    names = made.array("stats").attrs["stats"]
    first, second = (atlas.read("stats").astype(np.float64) for atlas in (made, after))
    table = rows(made, "compare_stats")
    assert len(table) == 8 * (len(names) + 3)  # and sums of offsets
    for row in table[::7]:
        parts = [names.index(part) for part in statistic(row["statistic"]).parts]
        before, later = (each[:, row["layer"], row["head"], parts].sum(-1) for each in (first, second))
        assert row["before"] == pytest.approx(before.mean(), abs=1e-6)
        assert row["difference"] == pytest.approx((later - before).mean(), abs=1e-6)
        if np.ptp(later - before) > 1e-6:
            expected = stats.ttest_rel(later, before).pvalue
            assert row["p"] == pytest.approx(max(expected, 2 * 0.5**TEXTS), rel=1e-3, abs=1e-9)
    p = [row["p"] for row in table]
    np.testing.assert_allclose([row["q"] for row in table], stats.false_discovery_control(p), atol=1e-12)


def test_p_by_t_agrees_with_sign_flips(made, after):
    rng = np.random.default_rng(0)
    flips = rng.choice([-1, 1], (20_000, TEXTS))
    names = made.array("stats").attrs["stats"]
    compared = 0
    for row in rows(made, "compare_stats"):
        if row["statistic"] not in ("previous", "largest") or not 0.001 < row["p"] < 1:
            continue
        place = (slice(None), row["layer"], row["head"], names.index(row["statistic"]))
        difference = after.read("stats")[place].astype(np.float64) - made.read("stats")[place]
        reached = np.abs(flips @ difference) >= abs(difference.sum()) - 1e-12
        chance = min(row["p"], 1 - row["p"])
        assert row["p"] == pytest.approx(reached.mean(), abs=0.006 + 0.06 * chance)  # closest where p is small
        compared += 1
    assert compared >= 3


def test_texts_of_one_source_count_once(tmp_path):
    source = np.repeat(np.arange(24), [3, *[1] * 23])
    paths = [tmp_path / f"{name}.atlas" for name in "ab"]
    for seed, path in enumerate(paths):
        atlas = planted(path, drawn(np.ones((1, 2, 5)), len(source), seed), seed=seed, columns={"page": source})
        with atlas.editing() as header:
            header["data"]["group"] = "page"
    row = compare.models(*paths).to_pylist()[0]
    maps = [ha.open(path).read("pooled")[:, 0] for path in paths]
    values = shifts(*maps)[:, 0]
    means = np.array([values[source == number].mean() for number in range(24)])
    assert row["shift"] == pytest.approx(means.mean(), abs=1e-6)
    assert row["shift_high"] - row["shift"] == pytest.approx(stats.t.ppf(0.975, 23) * stats.sem(means), abs=1e-6)


def test_patterns_are_those_of_the_same_encoder_and_clusters(made, after, tmp_path):
    vectors = ha.features.image(after)[:]  # the encoder profile is not fitted
    labels = read_clusters(made, "kmeans").assign(vectors).labels
    stored = made.read("labels", of="kmeans")
    for row in rows(made, "compare_heads"):
        for side, values in (("before", stored), ("after", labels)):
            counts = np.bincount(values[:, row["layer"], row["head"]], minlength=4)
            assert row[f"pattern_{side}"] == counts.argmax()
            assert row[f"pattern_{side}_share"] == pytest.approx(counts.max() / TEXTS)
    table = rows(made, "compare_patterns")
    assert [row["cluster"] for row in table] == [0, 1, 2, 3]
    for row in table:
        before, later = (np.mean(values == row["cluster"]) for values in (stored, labels))
        assert (row["share_before"], row["share_after"]) == (pytest.approx(before), pytest.approx(later))
        assert row["low"] <= row["difference"] <= row["high"]
    assert NOISE not in labels


def test_what_is_kept_for_looking(made, home):
    atlases = [ha.open(home / f"{name}.atlas") for name in ("base", "tuned", "seed2", "seed3")]
    models = rows(made, "compare_models")
    assert [(row["model"], row["role"], row["name"]) for row in models] == [
        (0, "first", "base"), (1, "step", "tuned"), (2, "noise", "seed2"), (3, "noise", "seed3")
    ]  # fmt: skip
    sampled = rows(made, "compare_examples")
    assert [row["place"] for row in sampled] == [0, 1, 2, 3, 4]
    tokens = made.table("tokens").to_pandas()
    for row in sampled:
        assert row["tokens"] == tokens[tokens.example == row["example"]].text.tolist()
    numbers = [row["example"] for row in sampled]
    maps, means = made.read("compare_pooled", of="tuned"), made.read("compare_mean", of="tuned")
    for model, atlas in enumerate(atlases):
        np.testing.assert_array_equal(maps[:, model], atlas.read("pooled")[numbers])
        np.testing.assert_allclose(means[model], atlas.read("pooled").astype(float).mean(0), atol=1e-3)


# series


def test_a_step_at_which_a_head_takes_up_its_job_is_found(tmp_path):
    """L1·H2 spreads broadly in the first two models, and attends to the previous token from the third on."""
    patterns = np.zeros((24, 2, 4), np.int64) + np.arange(4) % 3
    paths = []
    for step in range(4):
        patterns[:, 1, 2] = 2 if step < 2 else 0
        paths.append(tmp_path / f"step{step}.atlas")
        planted(paths[-1], patterns, seed=step)
    compare.models(*paths, steps=["0", "10", "20", "30"])
    atlas = ha.open(paths[0])
    of = "step1-to-step3"
    for row in rows(atlas, "compare_series", of):
        if (row["layer"], row["head"]) == (1, 2):
            assert (row["statistic"], row["taken_up"]) == ("previous", 2)
            expected = [ha.open(path).read("stats")[:, 1, 2, 0].mean() for path in paths]
            np.testing.assert_allclose(row["values"], expected, atol=1e-6)
            assert all(
                low < value < high for low, value, high in zip(row["low"], row["values"], row["high"], strict=True)
            )
        else:
            assert row["statistic"] is None and row["taken_up"] is None
    moved = {row["step"] for row in rows(atlas, "compare_heads", of) if row["shift"] > 0.3}
    assert moved == {2, 3}
    text = compare.summary(atlas)
    assert "1 of 8 heads takes up what it does at the end: 1 from 20 on" in text
    assert "L1·H2: attention to the previous token from 0.04" in text
    assert "10: most L" in text


def test_a_job_that_another_seed_does_not_take_up_is_none(tmp_path):
    patterns = np.zeros((24, 1, 2), np.int64)
    paths = [tmp_path / f"{name}.atlas" for name in ("a", "b", "c", "seed")]
    for step, (path, kind) in enumerate(zip(paths, (2, 2, 0, 2), strict=True)):
        patterns[:, 0, 1] = kind
        with planted(path, patterns, seed=step).editing() as header:
            header["model"]["hash"] = str(step)
    compare.models(*paths[:3], name="alone")
    compare.models(*paths[:3], noise=[paths[3]], name="seeds")
    atlas = ha.open(paths[0])
    assert [rows(atlas, "compare_series", of)[1]["taken_up"] for of in ("alone", "seeds")] == [2, None]
    row = next(
        row for row in rows(atlas, "compare_stats", "seeds") if (row["head"], row["statistic"]) == (1, "previous")
    )
    assert row["noise"] == pytest.approx(0.76, abs=0.02)
    assert not any(row["changed"] for row in rows(atlas, "compare_heads", "seeds"))  # seeds move it as far


def test_only_common_statistics_are_compared(tmp_path, monkeypatch):
    paths = [tmp_path / f"{name}.atlas" for name in "ab"]
    patterns = drawn(np.ones((1, 2, 5)), 24)
    planted(paths[0], patterns)
    names = ["special:<s>" if name == "special:[SEP]" else name for name in reversed(STATS)]
    monkeypatch.setattr("support.planted.STATS", names)
    planted(paths[1], patterns)
    compare.models(*paths)
    atlas = ha.open(paths[0])
    table = [row for row in rows(atlas, "compare_stats", "b") if (row["head"], row["statistic"]) == (0, "previous")]
    assert {row["statistic"] for row in rows(atlas, "compare_stats", "b")} == {*STATS} - {"special:[SEP]"}
    assert table[0]["after"] == pytest.approx(ha.open(paths[1]).read("stats")[:, 0, 0, names.index("previous")].mean())
