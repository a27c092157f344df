"""What the input changes, from an atlas to tables and sentences: planted effects are found, absent ones are not."""

import numpy as np
import pytest

from headatlas import collect, correlate, data
from headatlas.atlas import findings, groups
from headatlas.data.readers import READERS
from headatlas.errors import OptionError
from headatlas.stages.correlate import counts
from headatlas.stages.correlate.dataset_columns import Column, read_columns, same_columns
from headatlas.stages.correlate.input_changes import input_changes
from support.planted import clustered, drawn, plant_features, planted


def switching(seed, examples=60):
    """Patterns in which L1·H2 shows 0 on most texts of kind `a` and 4 on most of `b`; all other heads ignore the kind.

    The kind explains about 60% of the variance of L1·H2, far above the 0.1 from which on a head is reported.
    """
    rng = np.random.default_rng([seed, 1])
    patterns = drawn(np.ones((2, 4, 5)), examples, seed=seed)
    kind = np.where(rng.random(examples) < 0.5, "a", "b")
    follows = rng.random(examples) < 0.8
    patterns[follows, 1, 2] = np.where(kind == "b", 4, 0)[follows]
    return patterns, kind


@pytest.fixture(scope="module")
def atlas(tmp_path_factory):
    patterns, kind = switching(3)
    rng = np.random.default_rng(0)
    columns = {"kind": kind, "twin": np.where(kind == "a", 1, 2), "other": rng.integers(0, 3, 60), "same": ["x"] * 60}
    atlas = planted(tmp_path_factory.mktemp("switching") / "s.atlas", patterns, columns=columns, missing=[(0, 3)])
    clustered(atlas, patterns, missing=[(0, 3)])
    correlate.clusters(atlas, permutations=299)
    return atlas


def test_a_head_that_switches_is_found_and_ranked_first(tmp_path):
    first = 0
    for seed in range(20):
        patterns, kind = switching(seed)
        small = planted(f"memory://switching-{seed}.atlas", patterns, columns={"kind": kind}, seed=seed)
        clustered(small, patterns)
        maps = counts.read(small, "kmeans", np.arange(60))
        columns = read_columns(small, ["kind"])
        options = {"permutations": 199, "seed": seed, "draws": 20}
        row = input_changes(small, "kmeans", maps, columns, **options).changes.slice(0, 1).to_pylist()[0]
        first += (row["layer"], row["head"], row["rank"]) == (1, 2, 0)
    assert first >= 19


def test_table_of_changes(atlas):
    table = atlas.table("changes").to_pandas()
    assert len(table) == 7 * 3 and set(table.column) == {"kind", "twin", "other"}
    best = table.iloc[0]
    assert (best.layer, best["head"], best["rank"]) == (1, 2, 0) and best.column in ("kind", "twin")
    assert best.low < best.explained < best.high and best.q < 0.05 and best.n == best.groups == 60
    features = atlas.read("features")[:, 1, 2].astype(np.float64)
    kind = np.array(atlas.table("examples")["kind"])
    means = np.stack([features[kind == value].mean(0) for value in kind])
    eta2 = ((means - features.mean(0)) ** 2).sum() / ((features - features.mean(0)) ** 2).sum()
    assert best.eta2 == pytest.approx(eta2, rel=1e-4) and best.chance == pytest.approx(1 / 59)
    ranked = table[table["rank"].notna()]
    assert set(zip(ranked.layer, ranked["head"], strict=True)) == {(1, 2)} and "other" not in set(ranked.column)
    assert list(ranked.explained) == sorted(ranked.explained, reverse=True)
    strongest = best.statistics[0]
    assert strongest["statistic"] in ("previous", "next") and len(best.statistics) <= 3
    stats = atlas.read("stats")[:, 1, 2, atlas.array("stats").attrs["stats"].index(strongest["statistic"])]
    values = {"a": stats[kind == "a"].mean(), "b": stats[kind == "b"].mean()}
    named = {"1": "a", "2": "b"}
    for mean in strongest["means"]:
        assert mean["mean"] == pytest.approx(values[named.get(mean["value"], mean["value"])], rel=1e-4)


def test_how_much_heads_vary(atlas):
    table = atlas.table("text").to_pandas()
    features = atlas.read("features").astype(np.float64).reshape(60, 8, -1)[:, [0, 1, 2, 4, 5, 6, 7]]
    total = ((features - features.mean((0, 1))) ** 2).sum(-1).mean()
    assert np.allclose(table.within, features.var(0).sum(-1), rtol=1e-4) and np.allclose(table.total, total, rtol=1e-4)
    assert np.allclose(table.share, table.within / total, rtol=1e-4) and (table.low <= table.share).all()


def test_shares_beside_associations(atlas):
    table = atlas.table("associations").to_pandas().set_index("factor")
    kind = table.loc["kind"]
    assert kind.within_heads and kind.explained_low < kind.explained < kind.explained_high and kind.explained_p < 0.05
    assert kind.explained_chance == pytest.approx(1 / 59) and not table.loc["head"].within_heads
    assert table.explained_p["other"] > 0.05 and np.isnan(table.explained_p["head"])
    for name in ("head", "layer", "example"):
        assert np.isfinite(table.explained[name]) and 0 < table.explained_chance[name] < 1


def test_summary_leads_with_what_changes(atlas):
    text = correlate.summary(atlas)
    flat = " ".join(text.split())
    assert text.splitlines()[2].startswith("What the input changes")
    assert "1 head switches to “next token” if kind = b: L1·H2; 92% of its maps against 6%" in flat
    kinds = np.array(atlas.table("examples")["kind"].to_pylist())
    shares = [(atlas.read("labels")[kinds == kind, 1, 2] == 4).mean() for kind in "ba"]
    assert shares == pytest.approx([0.92, 0.06], abs=0.005)
    assert "twin goes with kind: what changes with them cannot" in flat
    assert "change with" not in flat and "if twin" not in flat
    assert "AMI" not in text and "of the variation within heads" in flat
    assert "other explains no more of the variation within heads than chance (p = " in flat
    facts = atlas.facts("correlate")
    assert facts["same_columns"] == {"twin": "kind"} and facts["group"] is None and facts["groups"] == 60
    assert facts["features"] == "planted" and facts["vectors_examples"] == facts["vectors_groups"] == 60


def test_a_statistic_is_mentioned_only_if_it_differs():
    means = [{"value": "a", "mean": 0.1}, {"value": "b", "mean": 0.12}, {"value": "c", "mean": None}]
    row = {"layer": 0, "head": 1, "explained": 0.5}
    faint = {"statistic": "next", "spread": 3.0, "means": means}
    clear = {"statistic": "self", "spread": 1.0, "means": [means[0], means[1] | {"mean": 0.4}, means[2]]}
    assert findings.contrast([row | {"statistics": [faint]}], 0.05) is None
    assert findings.contrast([row | {"statistics": []}], 0.05) is None
    why = findings.contrast([row | {"statistics": [faint, clear]}], 0.05)
    assert (why["statistic"], why["high_value"], why["low_value"]) == ("attention to the token itself", "b", "a")


def test_nothing_changes_or_too_few_texts(tmp_path):
    patterns = drawn(np.ones((2, 2, 5)), 40, seed=1)
    kind = list("ab" * 20)
    still = planted(tmp_path / "still.atlas", patterns, columns={"kind": kind})
    clustered(still, patterns)
    correlate.clusters(still, permutations=99, columns=["kind"])
    text = " ".join(correlate.summary(still).split())
    assert "no head changes with kind: none explains 10% of" in text and "with q below 0.05; 40 texts" in text
    few = planted(tmp_path / "few.atlas", patterns[:12], columns={"kind": kind[:12]})
    clustered(few, patterns[:12])
    correlate.clusters(few, permutations=99)
    rows = few.table("changes").to_pylist()
    assert all(row["untested"] == "few groups" and row["p"] is None and row["rank"] is None for row in rows)
    text = " ".join(correlate.summary(few).split())
    assert text.count("too few texts to test (12, 20 are needed)") >= 5
    assert "kind explains" in text and "of the variation within heads; too few texts to test (12, 20" in text


def test_one_text_equal_texts_and_clusters_of_heads(tmp_path):
    one = planted(tmp_path / "one.atlas", np.array([[[0, 1], [2, 3]]]))
    clustered(one, np.array([[[0, 1], [2, 3]]]))
    correlate.clusters(one, permutations=9)
    assert one.table("changes").num_rows == 0 and one.table("text")["share"].to_pylist() == [None] * 4
    assert "no column to compare heads with" in correlate.summary(one)

    patterns = np.broadcast_to(np.array([[0, 1], [2, 3]]), (30, 2, 2))
    equal = planted(tmp_path / "equal.atlas", patterns, noise=0, columns={"kind": list("ab" * 15)})
    clustered(equal, patterns, level="heads")
    correlate.clusters(equal, permutations=99, columns=["kind"])
    rows = equal.table("changes").to_pylist()
    assert len(rows) == 4 and all(row["untested"] == "same maps" and row["eta2"] is None for row in rows)
    assert equal.table("text")["share"].to_pylist() == pytest.approx([0] * 4, abs=1e-6)
    assert "no column to compare heads with" in correlate.summary(equal)

    patterns, kind = switching(0)
    heads = planted(tmp_path / "heads.atlas", patterns, columns={"kind": kind})
    clustered(heads, np.broadcast_to(np.arange(8).reshape(2, 4) % 3, (60, 2, 4)), level="heads")
    correlate.clusters(heads, permutations=199)
    flat = " ".join(correlate.summary(heads).split())
    assert "1 head changes with kind: L1·H2 (" in flat and "its attention to the " in flat and " if kind = " in flat
    assert heads.table("switches").num_rows == 0  # each head has one label


def test_features_of_the_clustering_are_used_and_a_sample_of_many_examples(tmp_path, monkeypatch):
    patterns, kind = switching(5)
    atlas = planted(tmp_path / "f.atlas", patterns, columns={"kind": kind})
    clustered(atlas, patterns, name="of-planted")
    plant_features(atlas, "noise", np.random.default_rng(0).normal(size=(60, 2, 4, 3)), 16)
    monkeypatch.setattr("headatlas.stages.correlate.vectors.EXAMPLES", 40)
    correlate.clusters(atlas, of="of-planted", permutations=199, columns=["kind"])
    facts = atlas.facts("correlate", "of-planted")
    assert facts["features"] == "noise" and facts["vectors_examples"] == 40  # this clustering does not say: the latest
    assert set(atlas.table("changes", "of-planted")["n"].to_pylist()) == {40}


def test_same_columns():
    codes = np.arange(40) % 4
    values = {"a": codes, "half": codes // 2, "b": (codes + 1) % 4, "c": np.arange(40) // 10}
    columns = [Column(name, codes, tuple("wxyz")[: codes.max() + 1]) for name, codes in values.items()]
    assert same_columns(columns) == {"half": "a", "b": "a"}


# groups


def test_readers_declare_groups_and_collect_keeps_them(tmp_path):
    assert READERS["squad:"].group == READERS["sample:questions"].group == "pair" and READERS["sample"].group is None
    questions = data.load("sample:questions").limited(8)
    assert questions.group == "pair"
    atlas = collect.maps("packaged", questions, tmp_path / "q.atlas", qk_tokens=0)
    assert atlas.header["data"]["group"] == "pair" and groups.group_column(atlas, None) == "pair"
    passages = atlas.table("examples")["pair"].to_pylist()
    numbers = groups.read_groups(atlas, "pair").number
    assert [passages.index(passage) for passage in passages] == [list(numbers).index(number) for number in numbers]
    assert groups.read_groups(atlas, None).count == groups.read_groups(atlas, "id").count == 8 > numbers.max() + 1


def test_group_option(tmp_path):
    patterns, kind = switching(1)
    source = np.repeat(np.arange(12), 5)
    columns = {"kind": kind, "source": source, "words": [["a"]] * 60}
    atlas = planted(tmp_path / "g.atlas", patterns, columns=columns)
    clustered(atlas, patterns)
    correlate.clusters(atlas, permutations=99, columns=["kind"], group="source")
    facts = atlas.facts("correlate")
    assert (facts["group"], facts["groups"]) == ("source", 12)
    assert set(atlas.table("changes")["untested"].to_pylist()) == {"few groups"}
    correlate.clusters(atlas, permutations=99, columns=["kind"])
    assert atlas.facts("correlate")["groups"] == 60
    for name, words in [
        ("nothing", "no column 'nothing' to group by; the columns are: example, id"),
        ("words", "list"),
    ]:
        with pytest.raises(OptionError, match=words):
            correlate.clusters(atlas, permutations=99, group=name)
