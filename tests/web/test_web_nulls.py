"""Null models, and heads that treat an example unlike others, as the server sends them: against the tables."""

import shutil

import numpy as np
import pytest

import headatlas as ha
from headatlas import correlate
from headatlas.web.api.endpoints import ENDPOINTS
from headatlas.web.export import export
from headatlas.wording.thresholds import AS_OTHERS, DIFFERS
from support import served
from support.planted import clustered, drawn, planted
from support.served import EXAMPLES, error

KINDS = ["untrained", "permuted"]  # images cannot be shuffled


@pytest.fixture(scope="module")
def client(null_images):
    return served.client(null_images)


def test_each_cluster_has_its_shares_under_null_models(client, null_images):
    sent = served.ask(client, ENDPOINTS.clusters, clustering="kmeans").json()
    rows = null_images.table("null_shares", "kmeans").to_pylist()
    for cluster in sent["clusters"]:
        wanted = [row for row in rows if row["cluster"] == cluster["cluster"]]
        assert [share["kind"] for share in cluster["nulls"]] == KINDS == [row["kind"] for row in wanted]
        for share, row in zip(cluster["nulls"], wanted, strict=True):
            assert share == {name: row[name] for name in ("kind", "share", "low", "high", "share_real", "kept")}
    heads = null_images.table("null_heads", "kmeans").to_pylist()
    assert sent["null"]["kinds"] == KINDS and sent["null"]["examples"] == 24 and sent["null"]["nodes"] == []
    for jobs in sent["null"]["jobs"]:
        own = [row["one_job"] for row in heads if row["kind"] == jobs["kind"]]
        assert (jobs["heads"], jobs["one_job"]) == (len(own), sum(own)) == (12, sum(own))
    locality = [row for row in null_images.table("null_locality", "kmeans").to_pylist() if row["kind"] != "real"]
    for found, row in zip(sent["null"]["locality"], locality, strict=True):
        assert found == {name: row[name] for name in ("kind", "neighbors", "similarity", "all_pairs")}


def test_each_head_of_a_cluster_has_its_share_under_null_models(client, null_images):
    rows = null_images.table("null_heads", "kmeans").to_pylist()
    for factor in served.ask(client, ENDPOINTS.cluster, clustering="kmeans", cluster=1).json()["factors"]:
        for cell in factor["cells"]:
            if factor["factor"] != "head":
                assert cell["nulls"] == []
                continue
            own = [row for row in rows if (row["layer"], row["head"]) == (cell["layer"], cell["head"])]
            assert cell["nulls"] == [
                {"kind": row["kind"], "share": next(p["share"] for p in row["shares"] if p["cluster"] == 1)}
                for row in own
                if row["kind"] != "real"
            ]


def test_without_null_models_nothing_is_sent():
    client = served.client(served.full())
    for name in ("kmeans", "loose.one"):
        sent = served.ask(client, ENDPOINTS.clusters, clustering=name).json()
        assert sent["null"] is None and all(cluster["nulls"] == [] for cluster in sent["clusters"])
        assert sent["unlike"] == ("unlike.kmeans" if name == "kmeans" else None)


# heads that treat an example unlike others


@pytest.fixture(scope="module")
def atlas(tmp_path_factory):
    """Each head has one pattern, but L0·H0 another one on the two texts of kind `b`, and L1·H2 on text 5 alone."""
    patterns = drawn(np.eye(5)[np.arange(8).reshape(2, 4) % 5], EXAMPLES)
    kind = np.where(np.arange(EXAMPLES) % 20 == 7, "b", "a")
    patterns[kind == "b", 0, 0] = 1
    patterns[5, 1, 2] = 3
    atlas = planted(tmp_path_factory.mktemp("unlike") / "u.atlas", patterns, columns={"kind": kind}, noise=0.05)
    clustered(atlas, patterns)
    correlate.clusters(atlas, permutations=199)
    return atlas


def unlike(client, example):
    return served.ask(client, ENDPOINTS.unlike, clustering="kmeans", example=example).json()


def test_heads_are_those_above_one_the_most_unusual_first(atlas):
    client, amounts = served.client(atlas), atlas.read("unlike")
    for example in range(EXAMPLES):
        sent = unlike(client, example)
        places = [tuple(place) for place in np.argwhere(amounts[example] > 1).tolist()]
        assert sent["example"] == example
        assert {(head["layer"], head["head"]) for head in sent["heads"]} == {*places}
        values = [head["unlike"] for head in sent["heads"]]
        assert values == sorted(values, reverse=True)
        for head in sent["heads"]:
            place = head["layer"], head["head"]
            assert head["unlike"] == amounts[example][place]
            assert head["cluster"] == atlas.read("labels")[example][place]
            assert len(head["statistics"]) <= 2


def test_reasons_are_the_pattern_and_the_statistics(atlas):
    odd = unlike(served.client(atlas), 5)["heads"][0]
    assert (odd["layer"], odd["head"], odd["cluster"], odd["main_cluster"]) == (1, 2, 3, 1)
    assert odd["main_share"] == pytest.approx(39 / 40)
    stats, names = atlas.read("stats")[:, 1, 2].astype(float), list(atlas.array("stats").attrs["stats"])
    for reason in odd["statistics"]:
        values = stats[:, names.index(reason["statistic"])]
        assert reason["value"] == pytest.approx(values[5]) and reason["usual"] == pytest.approx(values.mean())
        assert abs(reason["value"] - reason["usual"]) >= DIFFERS
    assert {reason["statistic"] for reason in odd["statistics"]} & {"self", "special:[SEP]"}
    assert odd["value"] is None


def test_a_value_that_goes_with_it_is_named(atlas):
    first = unlike(served.client(atlas), 7)["heads"][0]
    assert (first["layer"], first["head"]) == (0, 0)
    counts = next(
        row
        for row in atlas.table("changes").to_pylist()
        if (row["layer"], row["head"], row["column"]) == (0, 0, "kind")
    )
    assert counts["rank"] is not None
    here = next(item for item in counts["values"] if item["value"] == "b")
    assert (here["n"], here["unlike"]) == (2, 2)
    assert first["value"] is None  # one other text is not enough


def test_values_need_enough_other_examples(tmp_path):
    patterns = np.zeros((100, 1, 2), int)
    kind = np.where(np.arange(100) % 20 == 3, "b", "a")
    patterns[kind == "b", 0, 0] = 1
    atlas = planted(tmp_path / "v.atlas", patterns, columns={"kind": kind}, noise=0.05)
    clustered(atlas, patterns)
    correlate.clusters(atlas, permutations=199)
    value = unlike(served.client(atlas), 23)["heads"][0]["value"]
    assert value == {"column": "kind", "value": "b", "others": 4, "unlike": 4} and value["unlike"] / 4 >= AS_OTHERS


def test_requests_that_cannot_be_answered(atlas, tmp_path):
    client = served.client(atlas)
    error(served.ask(client, ENDPOINTS.unlike, clustering="kmeans", example=EXAMPLES), 404)
    error(served.ask(client, ENDPOINTS.unlike, clustering="none", example=0), 404)
    uncorrelated = served.ask(served.client(served.full()), ENDPOINTS.unlike, clustering="loose.one", example=0)
    assert "headatlas correlate" in error(uncorrelated, 404)["command"]
    older = ha.open(shutil.copytree(atlas.files.url, tmp_path / "older.atlas"))
    shutil.rmtree(tmp_path / "older.atlas" / "correlate.zarr")  # as written by an earlier version
    client = served.client(older)
    assert (
        "headatlas correlate"
        in error(served.ask(client, ENDPOINTS.unlike, clustering="kmeans", example=0), 404)["command"]
    )
    assert served.ask(client, ENDPOINTS.clusters, clustering="kmeans").json()["unlike"] is None


def test_an_export_holds_them(atlas, tmp_path):
    export(atlas, tmp_path / "site", full=0, static=None)
    for example in (0, EXAMPLES - 1):
        file = tmp_path / "site" / ENDPOINTS.unlike.path(clustering="kmeans", example=example)
        assert (
            file.read_bytes()
            == served.ask(served.client(atlas), ENDPOINTS.unlike, clustering="kmeans", example=example).content
        )
