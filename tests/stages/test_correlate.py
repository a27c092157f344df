"""Correlate as a stage: planted effects are found, absent ones are not, and the tables are complete."""

import numpy as np
import pyarrow as pa
import pytest

from headatlas import collect, correlate
from headatlas.atlas.store import Atlas
from headatlas.errors import OptionError, StoreError
from headatlas.stages.collect.dataset_tables import EXAMPLES
from headatlas.stages.correlate import dataset_columns
from headatlas.stages.correlate.exemplars import exemplars, unlike
from support.planted import clustered, drawn, planted

TABLES = (
    "clusters", "evidence", "cells", "associations", "exemplars", "profiles", "related", "locality", "changes", "text"
)  # fmt: skip


def preference(layers=4, heads=5, kinds=5):
    """All heads draw patterns evenly except L0·H2 and L2·H0, which mostly show 0, and L3·H4, which mostly shows 1."""
    weights = np.ones((layers, heads, kinds))
    weights[0, 2, 0] = weights[2, 0, 0] = weights[3, 4, 1] = 12
    return weights


@pytest.fixture(scope="module")
def atlas(tmp_path_factory):
    rng = np.random.default_rng(5)
    patterns = drawn(preference(), 200, seed=1)
    kind = np.where(rng.random(200) < 0.5, "question", "statement")
    patterns[kind == "question", 1, 1:4] = 4  # these heads behave differently on questions
    columns = {
        "kind": kind,
        "flag": rng.random(200) < 0.3,
        "score": rng.normal(size=200),
        "note": list(map(str, range(200))),
    }
    atlas = planted(tmp_path_factory.mktemp("planted") / "p.atlas", patterns, columns=columns)
    clustered(atlas, patterns)
    correlate.clusters(atlas, permutations=199)
    return atlas


def test_planted_heads_are_found_and_hardly_any_other(atlas):
    cells = atlas.table("cells").to_pandas()
    # planted heads have at least 2.5 times their fair share; all other heads then have 1.2 times theirs of the rest
    heads = cells[(cells.factor == "head") & cells.significant & (cells.ratio > 1.9)]
    pairs = {(row.cluster, row.value) for row in heads.itertuples()}
    assert pairs == {(0, "L0·H2"), (0, "L2·H0"), (1, "L3·H4"), (4, "L1·H1"), (4, "L1·H2"), (4, "L1·H3")}
    row = cells[(cells.factor == "head") & (cells.value == "L0·H2") & (cells.cluster == 0)].iloc[0]
    assert row.layer == 0 and row["head"] == 2
    assert row.share_of_value == pytest.approx(12 / 16, abs=0.1) and row.low < row.share_of_value < row.high
    assert row.residual > 10 and row.q < 1e-6  # beyond what 199 shuffles can show, by the bound
    assert 0.05 < row.high - row.low < 0.2


def test_planted_column_is_found_and_others_are_not(atlas):
    associations = atlas.table("associations").to_pandas().set_index("factor")
    assert list(associations.index) == ["head", "layer", "example", "kind", "flag", "score"]
    assert associations.p["kind"] == pytest.approx(1 / 200)
    assert associations.p["flag"] > 0.05 and associations.p["score"] > 0.05
    assert associations.p["head"] == pytest.approx(1 / 200) and associations.cramers_v["head"] > 0.3
    assert associations.low["head"] < associations.cramers_v["head"] < associations.high["head"]
    assert associations.binned.to_dict() == dict.fromkeys(associations.index, False) | {"score": True}
    assert (associations.left_out == 0).all() and associations.untested.isna().all()
    assert list(associations.shuffled) == ["heads", "heads", "examples", "texts", "texts", "texts"]
    cells = atlas.table("cells").to_pandas()
    kind = cells[(cells.factor == "kind") & (cells.cluster == 4)].set_index("value")
    assert kind.significant.all() and kind.residual["question"] > 5 and kind.residual["statement"] < -5
    assert not cells[cells.factor.isin(["flag", "score"])].significant.any()
    assert len(set(cells[cells.factor == "score"].value)) == 4


def test_names_homes_and_summary(atlas):
    table = atlas.table("clusters").to_pandas().set_index("cluster")
    assert table.name.to_dict() == {
        0: "previous token", 1: "rests on separators", 2: "spreads evenly", 3: "token itself", 4: "next token"
    }  # fmt: skip
    assert [list(phrases) for phrases in table.phrases.sort_index()] == [
        ["previous token"], ["rests on separators"], ["spreads evenly"], ["token itself"], ["next token"]
    ]  # fmt: skip
    assert table.distinction.isna().all() and table.named.all() and (table.statistics == table.statistics[0]).all()
    (reason,) = table.reasons[0]
    assert reason["statistic"] == "previous" and reason["mean"] == pytest.approx(0.8, abs=0.01) and reason["rest"] < 0.1
    assert [reason["delta"], reason["low"], reason["high"]] == pytest.approx([1, 1, 1], abs=0.005)
    assert {(head["layer"], head["head"]) for head in table.heads[0]} == {(0, 2), (2, 0)} and table.mostly[0] == 2
    assert all(head["share"] == pytest.approx(12 / 16, abs=0.1) for head in table.heads[0])
    assert table.association.isna()[0] and table.association[4]["ratio"] > 1.1 and table.association[4]["q"] < 0.05
    assert (table.association[4]["column"], table.association[4]["value"]) == ("kind", "question")
    assert all(list(layers) == [] for layers in table.layers)  # patterns are drawn evenly except in six of twenty heads
    assert table.maps.sum() == 200 * 20 and table.share.sum() == pytest.approx(1)
    assert list(table.maps) == sorted(table.maps, reverse=True) and (table.stability == 0.9).all()
    text = correlate.summary(atlas)
    assert max(map(len, text.splitlines())) <= 100
    for word in ("0  previous token: ", "stable (0.90)", "the main pattern of L0·H2 (", "goes with  kind = question: ",
                 "same layer", "     Each token attends to the one before it: 0.80 of the attention, in other maps 0.0",
                 "effect     delta 1.00 [1.00, 1.00] in attention to the previous token"):  # fmt: skip
        assert word in text
    assert "5 clusters: “previous token”, “rests on separators”, “spreads evenly”, and 2 more" in str(atlas)
    facts = atlas.facts("correlate", "kmeans")
    assert facts["names"][0] == {"cluster": 0, "name": "previous token"} and "line" not in facts
    expected = {"one_job": 0.75, "mostly": 0.5, "significant": 0.05, "surplus": 1.25, "worth": 1.1, "explained": 0.1}
    expected |= {"matters": 0.01, "groups": 20, "differs": 0.05, "same_column": 0.8, "switches": 0.5, "rare": 0.05}
    assert facts["thresholds"] == expected


def test_profiles_and_related_heads(atlas):
    profiles = atlas.table("profiles").to_pandas().set_index(["layer", "head"])
    labels = atlas.read("labels")
    for (layer, head), row in profiles.iterrows():
        share = np.bincount(labels[:, layer, head], minlength=5) / 200
        assert [entry["cluster"] for entry in row.shares] == [0, 1, 2, 3, 4]
        assert np.allclose([entry["share"] for entry in row.shares], share)
        assert row.main_share == share.max() and row.main_cluster == share.argmax()
        assert row.entropy == pytest.approx(-(share[share > 0] * np.log(share[share > 0])).sum())
        assert row.one_job == (share.max() >= 0.75)
    related = atlas.table("related").to_pandas()
    assert len(related) == 20 * 5
    first = related[(related.layer == 0) & (related["head"] == 2) & (related["rank"] == 0)].iloc[0]
    assert (first.other_layer, first.other_head) == (2, 0) and 0.5 < first.closer_than < 1
    assert 0 < first.distance <= atlas.facts("correlate", "kmeans")["head_distance"]["typical"]


def test_exemplars_are_the_nearest_and_farthest(atlas):
    table = atlas.table("exemplars").to_pandas()
    labels, distance = atlas.read("labels"), atlas.read("distance")
    for cluster in range(5):
        members = [(distance[at], *at) for at in zip(*np.nonzero(labels == cluster), strict=True)]
        for kind, order in (("typical", sorted(members)), ("unlike", sorted(members, key=lambda m: (-m[0], m[1:])))):
            chosen, heads, examples = [], [], []
            for member_distance, e, layer, head in order:
                if len(chosen) < 8 and heads.count((layer, head)) < 2 and e not in examples:
                    chosen.append((e, layer, head, pytest.approx(member_distance)))
                    heads.append((layer, head))
                    examples.append(e)
            rows = table[(table.cluster == cluster) & (table.kind == kind)].sort_values("rank")
            assert list(rows[["example", "layer", "head", "distance"]].itertuples(index=False, name=None)) == chosen


def test_exemplars_of_small_clusters():
    distance, example = np.array([0.5, 0.1, 0.3, np.nan, 0.1]), np.array([0, 1, 2, 3, 4])
    assert exemplars(distance, example, np.zeros(5, int), 8).tolist() == [1, 4, 2, 0]  # one head: more than two of it
    assert unlike(distance, example, np.zeros(5, int), 2).tolist() == [0, 2]
    assert exemplars(distance, example, np.arange(5), 0).tolist() == []
    distances = np.arange(100.0)  # a stray head far from the center does not become typical for the sake of variety
    assert exemplars(distances, np.arange(100), (distances > 90).astype(int), 8).max() < 10


def test_order_of_examples_and_blocks_do_not_matter(tmp_path):
    patterns = drawn(preference(), 48, seed=2)
    order = np.random.default_rng(0).permutation(48)
    tables = []
    for number, (labels, block) in enumerate([(patterns, 16), (patterns[order], 48)]):
        atlas = planted(tmp_path / f"{number}.atlas", labels, block=block)
        clustered(atlas, labels)
        correlate.clusters(atlas, permutations=19)
        tables.append({name: atlas.table(name) for name in TABLES})
    cells = [atlas_tables["cells"].select(["cluster", "value", "maps", "share_of_value"]) for atlas_tables in tables]
    assert cells[0].equals(cells[1])
    assert tables[0]["profiles"].drop_columns("name").equals(tables[1]["profiles"].drop_columns("name"))
    for column in ("name", "phrases", "distinction", "heads", "layers"):
        assert tables[0]["clusters"][column].equals(tables[1]["clusters"][column])


def test_same_seed_same_result_and_nothing_done_twice(tmp_path, monkeypatch):
    patterns = drawn(preference(), 32, seed=3)
    tables = []
    for number in range(2):
        monkeypatch.setattr("headatlas.parallel.cores", lambda number=number: 1 + number)
        atlas = planted(tmp_path / f"{number}.atlas", patterns)
        clustered(atlas, patterns)
        correlate.clusters(atlas, permutations=59)
        tables.append({name: atlas.table(name) for name in TABLES})
    assert all(tables[0][name].equals(tables[1][name]) for name in TABLES)
    monkeypatch.setattr("headatlas.stages.correlate.tests", None)
    assert correlate.clusters(atlas, permutations=59).equals(tables[0]["clusters"])


def test_missing_heads_and_noise(tmp_path):
    patterns = drawn(preference(), 40, seed=4)
    atlas = planted(tmp_path / "m.atlas", patterns, missing=[(1, 3), (1, 4)])
    labels = patterns.copy()
    labels[::4, 0, 0] = -1
    clustered(atlas, labels, missing=[(1, 3), (1, 4)])
    table = correlate.clusters(atlas, permutations=19).to_pandas()
    assert table.cluster.iloc[-1] == -1 and table.name.iloc[-1] == "noise" and table.maps.iloc[-1] == 10
    assert list(table.phrases.iloc[-1]) == list(table.reasons.iloc[-1]) == [] and table.maps.sum() == 40 * 18
    cells = atlas.table("cells").to_pandas()
    assert set(cells[cells.factor == "head"].value) == {f"L{i}·H{h}" for i in range(4) for h in range(5)} - {
        "L1·H3", "L1·H4"
    }  # fmt: skip
    profiles = atlas.table("profiles").to_pylist()
    assert len(profiles) == 18 and all(row["shares"][-1]["cluster"] == -1 for row in profiles)
    assert profiles[0]["shares"][-1]["share"] == 0.25
    assert "noise            10 maps (1%) belong to no cluster" in correlate.summary(atlas)


@pytest.mark.parametrize(("label", "name"), [(0, "mixed"), (-1, "noise")])
def test_one_cluster_only_or_all_noise(tmp_path, label, name):
    patterns = np.zeros((24, 2, 3), int)
    atlas = planted(tmp_path / "one.atlas", patterns)
    clustered(atlas, patterns + label)
    table = correlate.clusters(atlas, permutations=19)
    assert table["name"].to_pylist() == [name] and table["maps"].to_pylist() == [144]
    rows = atlas.table("associations").to_pylist()
    assert all(row["cramers_v"] is None and row["p"] == 1 and row["untested"] == "one cluster" for row in rows)
    assert not any(atlas.table("cells")["significant"].to_pylist())
    assert "one cluster only" in correlate.summary(atlas)


def test_clusters_of_heads(tmp_path):
    head_labels = np.array([[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [0, 1, 2, 2]])
    patterns = np.broadcast_to(head_labels, (20, 4, 4)).copy()
    atlas = planted(tmp_path / "h.atlas", patterns)
    clustered(atlas, patterns, level="heads")
    table = correlate.clusters(atlas, permutations=199).to_pandas()
    assert table.maps.sum() == 320
    assert set(table.name) == {"previous token", "rests on separators", "spreads evenly"}
    associations = atlas.table("associations").to_pandas().set_index("factor")
    assert np.isnan(associations.p["head"]) and associations.untested["head"] == "one label per head"
    assert associations.p["layer"] <= 0.01 and associations.shuffled["layer"] == "grid"
    assert associations.untested["example"] == "same in all examples" and associations.shuffled.isna()["example"]
    layer = atlas.table("cells").to_pandas().query("factor == 'layer' and value == '0' and cluster == 0").iloc[0]
    assert layer.maps == 80 and layer.expected == pytest.approx(80 * 5 / 16) and layer.ratio == pytest.approx(16 / 5)
    assert "by construction" in correlate.summary(atlas)


@pytest.mark.parametrize("level", ["maps", "heads"])
def test_few_texts_are_described_but_nothing_is_tested(tmp_path, level):
    head_labels = np.array([[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [0, 1, 2, 2]])
    patterns = np.broadcast_to(head_labels, (19, 4, 4)).copy()
    if level == "maps":
        patterns[:9, 0, 0] = 2
    atlas = planted(tmp_path / "few.atlas", patterns, columns={"kind": list("ab" * 9 + "a")})
    clustered(atlas, patterns, level=level)
    table = correlate.clusters(atlas, permutations=99).to_pandas()
    associations = atlas.table("associations").to_pandas().set_index("factor")
    assert list(associations.index) == ["head", "layer", "example"] + ["kind"] * (level == "maps")
    assert (associations.untested == "few groups").all() and associations.p.isna().all()
    assert associations.low.isna().all() and associations.cramers_v["head"] > 0.9
    cells = atlas.table("cells").to_pandas()
    assert cells.p.isna().all() and cells.q.isna().all() and not cells.significant.any() and (cells.maps > 0).any()
    locality = atlas.table("locality").to_pandas()
    assert (locality.untested == "few groups").all() and locality.p.isna().all() and locality.similarity.notna().all()
    assert all(reason["low"] is None for reasons in table.reasons for reason in reasons) and table.named.all()
    assert list(table.set_index("cluster").layers[1]) == [1]  # where it is, without a test
    lines = [" ".join(entry.split()) for entry in correlate.summary(atlas).split("\n     ")]
    refusal = "too few texts to test (19, 20 are needed)"
    assert lines[1].startswith("Too few texts to test (19, 20 are needed)")
    text = " ".join(correlate.summary(atlas).split())
    assert text.count(refusal) >= 1 + len(associations) + 3  # changes; each factor; jobs and both kinds of neighbors
    assert " p = " not in text and "no more alike" not in text


def test_columns(monkeypatch):
    messages = []
    monkeypatch.setattr("headatlas.progress.say", messages.append)
    table = pa.table(
        {"id": ["a", "b", "c", "d", "e", "f"], "n_tokens": [3, 9, 4, 8, 20, 21], "same": ["x"] * 6,
         "flag": [True, None, False, True, True, True], "many": [[1]] * 6,
         "age": [1.5, 2.5, float("nan"), 3.0, 9.0, 8.0]}
    )  # fmt: skip
    columns = {column.name: column for column in dataset_columns.chosen_columns(table, None)}
    assert set(columns) == {"n_tokens", "flag", "age"}
    assert columns["n_tokens"].values == ("3–4", "8", "9–20", "21") or len(columns["n_tokens"].values) == 4
    assert columns["flag"].values == ("false", "true") and columns["flag"].codes.tolist() == [1, -1, 0, 1, 1, 1]
    assert columns["flag"].left_out == 1 and not columns["flag"].binned and columns["age"].codes[2] == -1
    assert columns["age"].binned and columns["age"].left_out == 1 and columns["n_tokens"].left_out == 0
    assert len(messages) == 1 and "same" in messages[0] and "many" in messages[0]
    for name, words in [
        ("nothing", "are: same, flag, many, age, n_to"),
        ("same", "same value"),
        ("id", "no column 'id'"),
    ]:
        with pytest.raises(OptionError, match=words):
            dataset_columns.chosen_columns(table, [name])
    many = pa.table({"word": [str(n) for n in range(60)], "number": list(range(60))})
    assert [column.name for column in dataset_columns.chosen_columns(many, None)] == ["number"]
    with pytest.raises(OptionError, match="60 values"):
        dataset_columns.chosen_columns(many, ["word"])


def test_bookkeeping_columns_are_those_of_collect():
    assert {*dataset_columns.BOOKKEEPING, *dataset_columns.LENGTHS} == set(EXAMPLES)


def test_mistakes_are_named(atlas, tmp_path):
    with pytest.raises(OptionError, match=r"no column 'color'.*kind, flag"):
        correlate.clusters(atlas, columns=["color"])
    with pytest.raises(OptionError, match="200 values"):
        correlate.clusters(atlas, columns=["note"])
    with pytest.raises(OptionError, match="permutation"):
        correlate.clusters(atlas, permutations=0)
    with pytest.raises(StoreError, match="no cluster result called 'other': it has kmeans"):
        correlate.clusters(atlas, of="other")
    bare = planted(tmp_path / "bare.atlas", np.zeros((4, 2, 2), int))
    with pytest.raises(StoreError, match="headatlas cluster"):
        correlate.clusters(bare)
    with pytest.raises(StoreError, match="headatlas correlate"):
        correlate.summary(bare)


def test_a_real_model(tmp_path):
    """Maps are collected and labeled by their statistics: heads known to look at one place get the right name."""
    from sklearn.cluster import KMeans

    atlas = collect.maps("packaged", collect.data.load("sample", limit=16), tmp_path / "real.atlas")
    stats = np.nan_to_num(atlas.read("stats"))
    values = stats.reshape(-1, stats.shape[-1])
    values = (values - values.mean(0)) / (values.std(0) + 1e-9)
    clustered(atlas, KMeans(20, n_init=2, random_state=0).fit_predict(values).reshape(stats.shape[:3]))
    correlate.clusters(atlas, permutations=99)
    profiles = atlas.table("profiles").to_pandas().set_index(["layer", "head"])
    assert profiles.name[0, 2].startswith("previous token") and profiles.one_job[0, 2]
    assert profiles.name[1, 8].startswith("next token") and profiles.one_job[1, 8]
    assert isinstance(Atlas.open(tmp_path / "real.atlas").table("clusters"), pa.Table)
