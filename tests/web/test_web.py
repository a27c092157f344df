"""Every answer that comes from the atlas alone, against what is read from the atlas by other means."""

import json
import re
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest

import headatlas as ha
from headatlas import cluster
from headatlas.atlas import schema
from headatlas.statistics import statistic
from headatlas.web.api.endpoints import ENDPOINTS
from headatlas.web.api.payloads.atlas import AtlasCard
from support import served
from support.served import EXAMPLES, GONE, HEADS, LAYERS, NASTY, attention, error, words

HALF = 1 / 65535  # half a step of attention at its coarsest


@pytest.fixture(scope="module")
def atlas():
    return served.full()


@pytest.fixture(scope="module")
def client(atlas):
    return served.client(atlas)


@pytest.fixture(scope="module")
def card(client):
    return client.get("/api/atlas.json").json()


def column(client, card):
    """The values of a column."""
    return words(served.ask(client, ENDPOINTS.column, column=card["slug"]))


def amounts(values, low, high):
    return np.where(values == 65535, np.nan, low + (high - low) * values / 65534)


def test_the_card_says_what_is_there(card, atlas):
    AtlasCard.model_validate(card)
    assert (card["static"], card["live"], card["full_examples"], card["resolution"]) == (False, False, [], 8)
    assert "--model FOLDER" in card["live_note"]
    listed = [name for name, stage in schema.STAGES.items() if stage.listed]
    assert [one["stage"] for one in card["stages"]] == listed
    assert [one["stage"] for one in card["stages"] if not one["done"]] == ["tsne"]
    assert [one["name"] for one in card["clusterings"]] == ["loose.one", "heads", "kmeans"]
    kmeans = card["clusterings"][2]
    assert (kmeans["clusters"], kmeans["correlated"], kmeans["noise"]) == (5, True, 0)
    assert card["clusterings"][0]["noise"] > 0 and not card["clusterings"][0]["correlated"]
    assert card["data"]["examples"] == EXAMPLES and card["model"]["heads"] == HEADS
    assert [one["name"] for one in card["statistics"]] == list(atlas.array("stats").attrs["stats"])
    assert card["statistics"][0] == {
        "name": "previous", "plain": "attention to the previous token", "unit": "share of attention",
    }  # fmt: skip
    assert card["projections"][0]["axes"][0].startswith("first component (")


def test_columns_of_maps_are_the_arrays(card, client, atlas):
    found = {one["name"]: one for one in card["columns"] if one["level"] == "map"}
    stats, names = atlas.read("stats"), list(atlas.array("stats").attrs["stats"])
    exact = {f"stat.{name}": stats[..., place] for place, name in enumerate(names)}
    exact |= {f"distance.{of}": atlas.read("distance", of=of) for of in ("kmeans", "heads", "loose.one")}
    exact["trust.pca"] = atlas.read("trust", of="pca")
    for name, values in exact.items():
        one = found.pop(name)
        assert one["encoding"] == "amount" and one["kind"] == "number"
        if name.startswith("trust"):
            assert (one["low"], one["high"]) == (0, 1)
        else:
            assert (one["low"], one["high"]) == (np.nanmin(values), np.nanmax(values))
        sent = amounts(column(client, one), one["low"], one["high"])
        step = (one["high"] - one["low"]) / 65534
        assert sent.shape == (EXAMPLES * LAYERS * HEADS,)
        np.testing.assert_allclose(sent, values.ravel(), atol=0.5001 * step, rtol=0)
    for of in ("kmeans", "heads", "loose.one"):
        one, labels = found.pop(f"cluster.{of}"), atlas.read("labels", of=of).ravel()
        sent = column(client, one).astype(int)
        assert (sent == np.where(labels == -1, 65535, np.where(labels == -2, 65534, labels))).all()
        assert len(one["categories"]) == labels.max() + 1
    assert not found
    assert (words(client.get("/api/columns/cluster.kmeans.bin")) == 65534).sum() == EXAMPLES
    index = (7 * LAYERS + GONE[0]) * HEADS + GONE[1]
    assert words(client.get("/api/columns/cluster.kmeans.bin"))[index] == 65534


def test_columns_of_examples_are_those_of_the_table(card, client, atlas):
    found = {one["name"]: one for one in card["columns"] if one["level"] == "example"}
    assert set(found) == {"example.topic", "example.score", "example.flag", "example.a strange/name", "example.many"}
    table = atlas.table("examples")
    for name in ("topic", "flag", "a strange/name", "many"):
        one = found[f"example.{name}"]
        sent = column(client, one)
        read = [None if code == 65535 else one["categories"][code] for code in sent]
        assert read == [None if v is None else str(v).lower() if name == "flag" else v for v in table[name].to_pylist()]
        assert re.fullmatch(r"example\.[A-Za-z0-9_-]+", one["slug"])
    score = found["example.score"]
    sent = amounts(column(client, score), score["low"], score["high"])
    np.testing.assert_allclose(sent, table["score"].to_numpy(), atol=7 / 65534)
    assert found["example.topic"]["categories"] == ["</script>" + NASTY[9:], "hill", "sea"]  # equally often, by name


def test_points_keep_their_shape(card, client, atlas):
    points = atlas.read("position", of="pca").reshape(-1, 2).astype(float)
    sent = words(client.get("/api/projections/pca.bin")).reshape(-1, 2).astype(float)
    known = np.isfinite(points).all(1)
    assert (sent[~known] == 65535).all() and (~known).sum() == EXAMPLES
    sent, points = sent[known], points[known]
    widest = np.ptp(points, 0).max()
    assert sent.min() == 0 and sent.max() == 65534
    middle = (points.min(0) + points.max(0)) / 2
    np.testing.assert_allclose(sent, (points - middle) * 65534 / widest + 32767, atol=0.51)
    scale = card["projections"][0]["scale"]
    np.testing.assert_allclose([scale["x"], scale["y"]] + (sent - 32767) * scale["step"], points, atol=widest / 65534)
    trust = words(client.get("/api/projections/pca/trust.bin"))
    assert (trust == words(client.get("/api/columns/trust.pca.bin"))).all()


def test_heads_have_their_means_deviations_and_maps(client, atlas):
    found = client.get("/api/heads.json").json()
    stats = atlas.read("stats").astype(float)
    assert len(found["heads"]) == LAYERS * HEADS and found["examples"] == EXAMPLES
    for row in found["heads"]:
        own = stats[:, row["layer"], row["head"]]
        if (row["layer"], row["head"]) == GONE:
            assert row["mean"] == [None] * own.shape[1] == row["deviation"]
            continue
        assert row["mean"] == pytest.approx(own.mean(0).tolist(), abs=1e-6)
        assert row["deviation"] == pytest.approx(own.std(0, ddof=1).tolist(), abs=1e-6)
    maps = attention(client.get("/api/heads/maps.bin")).reshape(LAYERS, HEADS, 8, 8)
    exact = np.nan_to_num(atlas.read("pooled_mean").astype(float).mean(0))  # blocks are equally long
    assert np.abs(maps - exact).max() < HALF + 1e-6


def test_clusters_are_the_tables(client, atlas):
    found = client.get("/api/clusterings/kmeans/clusters.json").json()
    rows = atlas.table("clusters", "kmeans").to_pylist()
    for one, row in zip(found["clusters"], rows, strict=True):
        for field in (
            "cluster", "name", "phrases", "ordinal", "maps", "layers", "heads", "mostly", "examples", "named",
            "statistics", "association",
        ):  # fmt: skip
            assert one[field] == row[field], field
        assert one["share"] == pytest.approx(row["share"])
        assert one["reasons"] == [why | {"plain": statistic(why["statistic"]).label} for why in row["reasons"]]
    exemplars = atlas.table("exemplars", "kmeans").to_pylist()
    for one in found["clusters"]:
        for kind in ("typical", "unlike"):
            own = [row for row in exemplars if row["cluster"] == one["cluster"] and row["kind"] == kind]
            shown = [found["exemplars"][place] for place in one[kind]]
            assert [(s["example"], s["layer"], s["head"]) for s in shown] == [
                (row["example"], row["layer"], row["head"]) for row in own
            ]
    pooled, labels = atlas.read("pooled").astype(float), atlas.read("labels", of="kmeans")
    means = attention(client.get("/api/clusterings/kmeans/means.bin")).reshape(-1, 8, 8)
    for one, mean in zip(found["clusters"], means, strict=True):
        assert np.abs(mean - pooled[labels == one["cluster"]].mean(0)).max() < HALF + 1e-6
    assert (found["clustering"], found["labels"], found["distance"]) == ("kmeans", "cluster.kmeans", "distance.kmeans")
    maps = attention(client.get("/api/clusterings/kmeans/exemplars.bin")).reshape(-1, 8, 8)
    for place, shown in zip(found["exemplars"], maps, strict=True):
        assert np.abs(shown - pooled[place["example"], place["layer"], place["head"]]).max() < HALF
    assert found["sentence"].startswith(f"{EXAMPLES * (LAYERS * HEADS - 1):,} maps fall into 5 patterns")
    assert found["sentence"].endswith(".")
    associations = atlas.table("associations", "kmeans").to_pylist()
    assert [one["factor"] for one in found["associations"]][:3] == ["head", "layer", "example"]
    for one, row in zip(found["associations"], associations, strict=True):
        assert one == {field: row[field] for field in one}
    one_job = atlas.table("profiles", "kmeans")["one_job"].to_pylist()
    assert found["jobs"] == {"heads": len(one_job), "one_job": sum(one_job)}
    assert found["thresholds"] == {"one_job": 0.75, "mostly": 0.5, "significant": 0.05}
    assert [one["neighbors"] for one in found["locality"]] == ["same layer", "adjacent layers"]
    pairs = {one["measure"]: one["pairs"] for one in found["quality"]}
    assert pairs == dict.fromkeys(pairs) | {"stability": 5}
    assert found["command"] is None and found["quality"][0]["low"] is None


def test_clusters_that_are_not_correlated_have_numbers_and_a_command(client, atlas):
    found = client.get("/api/clusterings/loose.one/clusters.json").json()
    labels = atlas.read("labels", of="loose.one")
    assert found["clusters"][-1]["cluster"] == -1 and found["clusters"][-1]["name"] == "noise"
    for one in found["clusters"]:
        assert one["maps"] == (labels == one["cluster"]).sum() and one["phrases"] is None and one["layers"] is None
        assert one["heads"] == one["reasons"] == [] and one["name"] in ("noise", f"cluster {one['cluster']}")
    assert found["thresholds"]["one_job"] == 0.75
    assert found["command"].endswith("full.atlas --of loose.one") and found["jobs"] is None
    assert found["exemplars"] == []
    means = attention(client.get("/api/clusterings/loose.one/means.bin"))
    assert len(means) == 64 * len(found["clusters"])
    for path in ("profiles.json", "clusters/0.json", "exemplars.bin"):
        said = error(client.get(f"/api/clusterings/loose.one/{path}"), 404)
        assert said["command"] == found["command"]


def test_one_cluster_has_its_cells_and_its_evidence(client, atlas):
    found = client.get("/api/clusterings/kmeans/clusters/2.json").json()
    cells = [row for row in atlas.table("cells", "kmeans").to_pylist() if row["cluster"] == 2]
    assert [one["factor"] for one in found["factors"]] == list(dict.fromkeys(row["factor"] for row in cells))
    sent = [cell for factor in found["factors"] for cell in factor["cells"]]
    for one, row in zip(sent, cells, strict=True):
        assert (one["value"], one["maps"], one["layer"], one["head"]) == tuple(
            row[name] for name in ("value", "maps", "layer", "head")
        )
        assert one["share"] == pytest.approx(row["share_of_value"])
    evidence = [row for row in atlas.table("evidence", "kmeans").to_pylist() if row["cluster"] == 2]
    assert {(one["statistic"], one["delta"]) for one in found["evidence"]} == {
        (row["statistic"], row["delta"]) for row in evidence
    }
    sizes = [abs(one["delta"]) for one in found["evidence"]]
    assert sizes == sorted(sizes, reverse=True)


def test_profiles_are_the_tables(client, atlas):
    found = client.get("/api/clusterings/kmeans/profiles.json").json()
    rows, related = atlas.table("profiles", "kmeans").to_pylist(), atlas.table("related", "kmeans").to_pylist()
    for one, row in zip(found["heads"], rows, strict=True):
        assert (one["layer"], one["head"], one["main_cluster"]) == (row["layer"], row["head"], row["main_cluster"])
        assert [part["cluster"] for part in row["shares"]] == found["clusters"]
        assert one["shares"] == [part["share"] for part in row["shares"]] and one["one_job"] == row["one_job"]
        own = [r for r in related if (r["layer"], r["head"]) == (one["layer"], one["head"])]
        own = sorted(own, key=lambda r: r["rank"])
        assert [(r["layer"], r["head"]) for r in one["related"]] == [(r["other_layer"], r["other_head"]) for r in own]


def test_examples_are_the_table(client, atlas):
    table = pq.read_table(f"{atlas.files.url}/examples.parquet").to_pylist()
    found = client.get("/api/examples.json").json()
    assert found["id"] == [row["id"] for row in table]
    assert found["columns"]["topic"] == [row["topic"] for row in table]
    assert found["columns"]["score"][3] is None and found["columns"]["flag"][0] == "true"
    assert found["columns"]["parts"][4] == '["a", "4"]'
    assert client.get("/api/texts.json").json()["text"] == [row["text"] for row in table]
    one = client.get("/api/examples/17.json").json()
    assert (one["id"], one["text"], one["columns"]["many"]) == ("17", "text 17", "value 17")
    assert (one["full"], one["tsne"], one["image"], one["pooled"]) == (False, False, False, True)
    assert (one["example"], one["key"]) == (17, None) and "--model FOLDER" in one["note"]
    pooled = np.nan_to_num(atlas.read("pooled", 17).astype(float))
    sent = attention(client.get("/api/examples/17/pooled.bin")).reshape(pooled.shape)
    assert np.abs(sent - pooled).max() < HALF
    assert np.abs(attention(client.get("/api/maps/17/1.2.bin")) - pooled[1, 2].ravel()).max() < HALF


def test_tokens_are_the_table():
    atlas = served.real()
    sent = served.client(atlas).get("/api/examples/2.json").json()
    rows = [row for row in atlas.table("tokens").to_pylist() if row["example"] == 2]
    assert sent["tokens"] == [{name: row[name] for name in ("text", "word", "special", "segment")} for row in rows]
    assert sent["text"] == served.TEXTS[2] and sent["target"] == []
    assert sent["full"] and sent["tsne"] and sent["note"] == ""


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("examples/40.json", 404), ("examples/-1.json", 404), ("examples/x.json", 422), ("examples/3/image.png", 404),
        ("maps/3/9.0.bin", 404), ("maps/3/0.9.bin", 404), ("columns/stat.nothing.bin", 404), ("nothing", 404),
        ("projections/umap.bin", 404), ("clusterings/no/clusters.json", 404), ("examples/3/full/0.0.bin", 404),
        ("clusterings/kmeans/clusters/99.json", 404), ("try/x/full/0.0.bin", 422),
        (f"try/{'0' * 32}/full/0.0.bin", 404), ("examples/" + "9" * 500 + ".json", 404),
        ("columns/" + "x" * 200 + ".bin", 422),
    ],
)  # fmt: skip
def test_what_is_not_there_is_told_in_one_shape(client, path, status):
    assert error(client.get(f"/api/{path}"), status)["message"]


@pytest.mark.parametrize(
    ("path", "stage"),
    [("projections/pca.bin", "project"), ("clusterings/kmeans/clusters.json", "cluster")],
)
def test_a_missing_stage_tells_its_command(path, stage):
    client = served.client(served.bare())
    card = client.get("/api/atlas.json").json()
    assert not card["clusterings"] and not card["projections"]
    assert [one["done"] for one in card["stages"]] == [True, True, False, False, False, False]
    assert error(client.get(f"/api/{path}"), 404)["command"] == f"headatlas {stage} {served.bare().files.url}"


def test_answers_are_kept_by_the_reader_until_the_atlas_changes(tmp_path):
    shutil.copytree(served.bare().files.url, tmp_path / "a.atlas")
    atlas = ha.open(tmp_path / "a.atlas")
    client = served.client(atlas)
    first = client.get("/api/atlas.json")
    assert first.headers["cache-control"] == "no-cache" and first.headers["content-encoding"] == "gzip"
    tag = first.headers["etag"]
    again = client.get("/api/atlas.json", headers={"if-none-match": tag})
    assert again.status_code == 304 and again.content == b"" and again.headers["etag"] == tag
    plain = client.get("/api/atlas.json", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers and plain.content == first.content
    cluster.kmeans(ha.open(tmp_path / "a.atlas"), k=5)  # another process, as it were
    new = client.get("/api/atlas.json", headers={"if-none-match": tag})
    assert new.status_code == 200 and new.headers["etag"] != tag
    assert [one["name"] for one in new.json()["clusterings"]] == ["kmeans"]
    assert len(words(client.get("/api/columns/cluster.kmeans.bin"))) == EXAMPLES * LAYERS * HEADS


def test_an_atlas_that_goes_away_is_told_and_comes_back(tmp_path):
    shutil.copytree(served.bare().files.url, tmp_path / "a.atlas")
    client = served.client(ha.open(tmp_path / "a.atlas"))
    assert client.get("/api/heads.json").status_code == 200
    (tmp_path / "a.atlas").rename(tmp_path / "b.atlas")
    for path in ("atlas.json", "heads.json", "examples/3/pooled.bin", "examples/3/full/0.0.bin"):
        assert "no longer exists" in error(client.get(f"/api/{path}"), 410)["message"]
    (tmp_path / "b.atlas").rename(tmp_path / "a.atlas")
    assert client.get("/api/heads.json").status_code == 200
    (tmp_path / "a.atlas" / "atlas.json").write_text("{")
    assert "is damaged" in error(client.get("/api/atlas.json"), 503)["message"]


def test_damaged_chunks_are_told_not_shown(tmp_path):
    shutil.copytree(served.bare().files.url, tmp_path / "a.atlas")
    chunk = next((tmp_path / "a.atlas" / "collect.zarr" / "stats" / "c").rglob("0"), None)
    file = next(one for one in sorted(chunk.rglob("*")) if one.is_file())
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 255
    file.write_bytes(content)
    client = served.client(ha.open(tmp_path / "a.atlas"))
    assert "is damaged" in error(client.get("/api/columns/stat.previous.bin"), 503)["message"]


def test_two_atlases_at_once():
    one, two = served.client(served.full()), served.client(served.bare())
    assert one.get("/api/atlas.json").json()["name"] == "full.atlas"
    assert two.get("/api/atlas.json").json()["name"] == "bare.atlas"
    assert one.get("/api/atlas.json").headers["etag"] != two.get("/api/atlas.json").headers["etag"]


def test_numbers_that_are_not_known_are_null_never_nan(client):
    for path in ("atlas.json", "heads.json", "examples.json", "clusterings/kmeans/clusters.json"):
        text = client.get(f"/api/{path}").text
        json.loads(text, parse_constant=lambda name: pytest.fail(f"an answer holds {name}"))
