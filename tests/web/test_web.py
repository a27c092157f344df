"""Every response that needs only the atlas, against the tables and arrays of the atlas."""

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


def test_the_card_lists_the_contents(card, atlas):
    AtlasCard.model_validate(card)
    assert (card["static"], card["live"], card["full_examples"], card["resolution"]) == (False, False, [], 8)
    assert "--model FOLDER" in card["live_note"]
    listed = [name for name, stage in schema.STAGES.items() if stage.listed]
    assert [stage["stage"] for stage in card["stages"]] == listed
    assert [stage["stage"] for stage in card["stages"] if not stage["done"]] == ["null", "tsne", "qk"]
    assert [clustering["name"] for clustering in card["clusterings"]] == ["loose.one", "heads", "tree", "kmeans"]
    kmeans = card["clusterings"][2]
    assert (kmeans["clusters"], kmeans["correlated"], kmeans["noise"]) == (5, True, 0)
    assert card["clusterings"][0]["noise"] > 0 and not card["clusterings"][0]["correlated"]
    assert card["data"]["examples"] == EXAMPLES and card["model"]["heads"] == HEADS
    assert [entry["name"] for entry in card["statistics"]] == list(atlas.array("stats").attrs["stats"])
    assert card["statistics"][0] == {
        "name": "previous", "plain": "attention to the previous token", "unit": "share of attention",
    }  # fmt: skip
    assert card["projections"][0]["axes"][0].startswith("first component (")


def test_columns_of_maps_match_the_arrays(card, client, atlas):
    columns = {entry["name"]: entry for entry in card["columns"] if entry["level"] == "map"}
    stats, names = atlas.read("stats"), list(atlas.array("stats").attrs["stats"])
    exact = {f"stat.{name}": stats[..., position] for position, name in enumerate(names)}
    exact |= {f"distance.{of}": atlas.read("distance", of=of) for of in ("kmeans", "heads", "loose.one", "tree")}
    exact["trust.pca"] = atlas.read("trust", of="pca")
    exact |= {f"unlike.{of}": atlas.read("unlike", of=of) for of in ("kmeans", "tree")}
    for name, values in exact.items():
        entry = columns.pop(name)
        assert entry["encoding"] == "amount" and entry["kind"] == "number"
        if name.startswith("trust"):
            assert (entry["low"], entry["high"]) == (0, 1)
        else:
            assert (entry["low"], entry["high"]) == (np.nanmin(values), np.nanmax(values))
        sent = amounts(column(client, entry), entry["low"], entry["high"])
        step = (entry["high"] - entry["low"]) / 65534
        assert sent.shape == (EXAMPLES * LAYERS * HEADS,)
        np.testing.assert_allclose(sent, values.ravel(), atol=0.5001 * step, rtol=0)
    for of in ("kmeans", "heads", "loose.one", "tree"):
        entry, labels = columns.pop(f"cluster.{of}"), atlas.read("labels", of=of).ravel()
        sent = column(client, entry).astype(int)
        assert (sent == np.where(labels == -1, 65535, np.where(labels == -2, 65534, labels))).all()
        assert len(entry["categories"]) == labels.max() + 1
    assert not columns
    assert (words(client.get("/api/columns/cluster.kmeans.bin")) == 65534).sum() == EXAMPLES
    index = (7 * LAYERS + GONE[0]) * HEADS + GONE[1]
    assert words(client.get("/api/columns/cluster.kmeans.bin"))[index] == 65534


def test_columns_of_examples_match_the_table(card, client, atlas):
    columns = {entry["name"]: entry for entry in card["columns"] if entry["level"] == "example"}
    assert set(columns) == {"example.topic", "example.score", "example.flag", "example.a strange/name", "example.many"}
    table = atlas.table("examples")
    for name in ("topic", "flag", "a strange/name", "many"):
        entry = columns[f"example.{name}"]
        sent = column(client, entry)
        read = [None if code == 65535 else entry["categories"][code] for code in sent]
        assert read == [None if v is None else str(v).lower() if name == "flag" else v for v in table[name].to_pylist()]
        assert re.fullmatch(r"example\.[A-Za-z0-9_-]+", entry["slug"])
    score = columns["example.score"]
    sent = amounts(column(client, score), score["low"], score["high"])
    np.testing.assert_allclose(sent, table["score"].to_numpy(), atol=7 / 65534)
    assert columns["example.topic"]["categories"] == ["</script>" + NASTY[9:], "hill", "sea"]  # equally often, by name


def test_points_keep_their_shape(card, client, atlas):
    points = atlas.read("position", of="pca").reshape(-1, 2).astype(float)
    sent = words(client.get("/api/projections/pca.bin")).reshape(-1, 2).astype(float)
    finite = np.isfinite(points).all(1)
    assert (sent[~finite] == 65535).all() and (~finite).sum() == EXAMPLES
    sent, points = sent[finite], points[finite]
    widest = np.ptp(points, 0).max()
    assert sent.min() == 0 and sent.max() == 65534
    middle = (points.min(0) + points.max(0)) / 2
    np.testing.assert_allclose(sent, (points - middle) * 65534 / widest + 32767, atol=0.51)
    scale = card["projections"][0]["scale"]
    np.testing.assert_allclose([scale["x"], scale["y"]] + (sent - 32767) * scale["step"], points, atol=widest / 65534)
    trust = words(client.get("/api/projections/pca/trust.bin"))
    assert (trust == words(client.get("/api/columns/trust.pca.bin"))).all()


def test_heads_have_their_means_deviations_and_maps(client, atlas):
    payload = client.get("/api/heads.json").json()
    stats = atlas.read("stats").astype(float)
    assert len(payload["heads"]) == LAYERS * HEADS and payload["examples"] == EXAMPLES
    for row in payload["heads"]:
        values = stats[:, row["layer"], row["head"]]
        if (row["layer"], row["head"]) == GONE:
            assert row["mean"] == [None] * values.shape[1] == row["deviation"]
            continue
        assert row["mean"] == pytest.approx(values.mean(0).tolist(), abs=1e-6)
        assert row["deviation"] == pytest.approx(values.std(0, ddof=1).tolist(), abs=1e-6)
    maps = attention(client.get("/api/heads/maps.bin")).reshape(LAYERS, HEADS, 8, 8)
    exact = np.nan_to_num(atlas.read("pooled_mean").astype(float).mean(0))  # blocks are equally long
    assert np.abs(maps - exact).max() < HALF + 1e-6


def test_clusters_match_the_tables(client, atlas):
    payload = client.get("/api/clusterings/kmeans/clusters.json").json()
    rows = atlas.table("clusters", "kmeans").to_pylist()
    for entry, row in zip(payload["clusters"], rows, strict=True):
        for field in (
            "cluster", "name", "phrases", "maps", "layers", "heads", "mostly", "examples", "named",
            "statistics", "association",
        ):  # fmt: skip
            assert entry[field] == row[field], field
            shown = {name: value for name, value in (entry["distinction"] or {}).items() if name != "plain"}
            assert shown == (row["distinction"] or {})
        assert entry["share"] == pytest.approx(row["share"])
        assert entry["reasons"] == [
            reason | {"plain": statistic(reason["statistic"]).label} for reason in row["reasons"]
        ]
    exemplars = atlas.table("exemplars", "kmeans").to_pylist()
    for entry in payload["clusters"]:
        for kind in ("typical", "unlike"):
            expected = [row for row in exemplars if row["cluster"] == entry["cluster"] and row["kind"] == kind]
            shown = [payload["exemplars"][place] for place in entry[kind]]
            assert [(s["example"], s["layer"], s["head"]) for s in shown] == [
                (row["example"], row["layer"], row["head"]) for row in expected
            ]
    pooled, labels = atlas.read("pooled").astype(float), atlas.read("labels", of="kmeans")
    means = attention(client.get("/api/clusterings/kmeans/means.bin")).reshape(-1, 8, 8)
    for entry, mean in zip(payload["clusters"], means, strict=True):
        assert np.abs(mean - pooled[labels == entry["cluster"]].mean(0)).max() < HALF + 1e-6
    assert (payload["clustering"], payload["labels"], payload["distance"]) == (
        "kmeans",
        "cluster.kmeans",
        "distance.kmeans",
    )
    maps = attention(client.get("/api/clusterings/kmeans/exemplars.bin")).reshape(-1, 8, 8)
    for place, shown in zip(payload["exemplars"], maps, strict=True):
        assert np.abs(shown - pooled[place["example"], place["layer"], place["head"]]).max() < HALF
    assert payload["sentence"].startswith(f"{EXAMPLES * (LAYERS * HEADS - 1):,} maps fall into 5 patterns")
    assert payload["sentence"].endswith(".")
    associations = atlas.table("associations", "kmeans").to_pylist()
    assert [entry["factor"] for entry in payload["associations"]][:3] == ["head", "layer", "example"]
    for entry, row in zip(payload["associations"], associations, strict=True):
        assert entry == {field: row[field] for field in entry}
    one_job = atlas.table("profiles", "kmeans")["one_job"].to_pylist()
    assert payload["jobs"] == {"heads": len(one_job), "one_job": sum(one_job)}
    thresholds = atlas.facts("correlate", "kmeans")["thresholds"]
    assert payload["thresholds"] == {name: thresholds[name] for name in payload["thresholds"]}
    assert {"one_job": 0.75, "mostly": 0.5, "significant": 0.05}.items() <= payload["thresholds"].items()
    assert [entry["neighbors"] for entry in payload["locality"]] == ["same layer", "adjacent layers"]
    pairs = {entry["measure"]: entry["pairs"] for entry in payload["quality"]}
    assert pairs == dict.fromkeys(pairs) | {"stability": 5}
    assert payload["command"] is None and payload["quality"][0]["low"] is None


def test_what_changes_a_head_is_its_part_of_the_table(client, atlas):
    rows = atlas.table("changes", "kmeans").to_pylist()
    for layer, head in ((0, 0), (1, 2)):
        payload = served.ask(client, ENDPOINTS.changes, clustering="kmeans", layer=layer, head=head).json()
        of_head = {row["column"]: row for row in rows if (row["layer"], row["head"]) == (layer, head)}
        assert {change["column"] for change in payload["changes"]} == set(of_head) != set()
        shares = [change["explained"] for change in payload["changes"]]
        assert shares == sorted(shares, key=lambda share: -(share if share is not None else -1))
        for change in payload["changes"]:
            row = of_head[change["column"]]
            assert all(change[name] == row[name] for name in ("rank", "explained", "low", "high", "q", "untested"))
            for item, stored in zip(change["statistics"], row["statistics"], strict=True):
                assert item["statistic"] == stored["statistic"] and item["means"] == stored["means"]
    assert error(client.get("/api/clusterings/kmeans/changes/99.0.json"), 404)["message"].startswith(
        "There is no layer"
    )
    response = error(client.get("/api/clusterings/loose.one/changes/0.0.json"), 404)
    assert response["command"].endswith("--of loose.one")


def test_findings_are_the_heads_that_switch_or_change(client, atlas):
    payload = served.ask(client, ENDPOINTS.findings, clustering="kmeans").json()
    facts = atlas.facts("correlate", "kmeans")
    rows = atlas.table("changes", "kmeans").to_pylist()
    ranked = {row["column"] for row in rows if row["rank"] is not None} - {*facts["same_columns"]}
    assert {column["column"] for column in payload["columns"]} == ranked
    assert payload["texts"] == max(row["groups"] for row in rows)
    tested = {facts["labels"].get(row["column"], row["column"]) for row in rows if row["p"] is not None}
    assert {*payload["compared"]} == tested
    for column in payload["columns"]:
        of_column = {(row["layer"], row["head"]): row for row in rows if row["column"] == column["column"]}
        explained = {(head["layer"], head["head"]): head["explained"] for head in column["explained"]}
        assert explained == {head: row["explained"] for head, row in of_column.items() if row["explained"] is not None}
        mentioned = [head for group in column["switches"] for head in group["heads"]] + column["changed"]
        assert {(head["layer"], head["head"]) for head in mentioned} == {
            head for head, row in of_column.items() if row["rank"] is not None
        }
    response = error(client.get("/api/clusterings/loose.one/findings.json"), 404)
    assert response["command"].endswith("--of loose.one")


def test_clusters_that_are_not_correlated_have_numbers_and_a_command(client, atlas):
    payload = client.get("/api/clusterings/loose.one/clusters.json").json()
    labels = atlas.read("labels", of="loose.one")
    assert payload["clusters"][-1]["cluster"] == -1 and payload["clusters"][-1]["name"] == "noise"
    for entry in payload["clusters"]:
        assert (
            entry["maps"] == (labels == entry["cluster"]).sum() and entry["phrases"] is None and entry["layers"] is None
        )
        assert entry["heads"] == entry["reasons"] == [] and entry["name"] in ("noise", f"cluster {entry['cluster']}")
    assert payload["thresholds"]["one_job"] == 0.75
    assert payload["command"].endswith("full.atlas --of loose.one") and payload["jobs"] is None
    assert payload["exemplars"] == []
    means = attention(client.get("/api/clusterings/loose.one/means.bin"))
    assert len(means) == 64 * len(payload["clusters"])
    for path in ("profiles.json", "clusters/0.json", "exemplars.bin"):
        problem = error(client.get(f"/api/clusterings/loose.one/{path}"), 404)
        assert problem["command"] == payload["command"]


def test_one_cluster_has_its_cells_and_its_evidence(client, atlas):
    payload = client.get("/api/clusterings/kmeans/clusters/2.json").json()
    cells = [row for row in atlas.table("cells", "kmeans").to_pylist() if row["cluster"] == 2]
    assert [entry["factor"] for entry in payload["factors"]] == list(dict.fromkeys(row["factor"] for row in cells))
    sent = [cell for factor in payload["factors"] for cell in factor["cells"]]
    for entry, row in zip(sent, cells, strict=True):
        assert (entry["value"], entry["maps"], entry["layer"], entry["head"]) == tuple(
            row[name] for name in ("value", "maps", "layer", "head")
        )
        assert entry["share"] == pytest.approx(row["share_of_value"])
    evidence = [row for row in atlas.table("evidence", "kmeans").to_pylist() if row["cluster"] == 2]
    assert {(entry["statistic"], entry["delta"]) for entry in payload["evidence"]} == {
        (row["statistic"], row["delta"]) for row in evidence
    }
    sizes = [abs(entry["delta"]) for entry in payload["evidence"]]
    assert sizes == sorted(sizes, reverse=True)


def test_profiles_match_the_tables(client, atlas):
    payload = client.get("/api/clusterings/kmeans/profiles.json").json()
    rows, related = atlas.table("profiles", "kmeans").to_pylist(), atlas.table("related", "kmeans").to_pylist()
    for entry, row in zip(payload["heads"], rows, strict=True):
        assert (entry["layer"], entry["head"], entry["main_cluster"]) == (
            row["layer"],
            row["head"],
            row["main_cluster"],
        )
        assert [part["cluster"] for part in row["shares"]] == payload["clusters"]
        assert entry["shares"] == [part["share"] for part in row["shares"]] and entry["one_job"] == row["one_job"]
        expected = [r for r in related if (r["layer"], r["head"]) == (entry["layer"], entry["head"])]
        expected = sorted(expected, key=lambda r: r["rank"])
        assert [(r["layer"], r["head"]) for r in entry["related"]] == [
            (r["other_layer"], r["other_head"]) for r in expected
        ]
        for field in ("distance", "closer_than"):
            assert [r[field] for r in entry["related"]] == [r[field] for r in expected]
    assert payload["head_distance"] == atlas.facts("correlate", "kmeans")["head_distance"]


def test_examples_match_the_table(client, atlas):
    table = pq.read_table(f"{atlas.files.url}/examples.parquet").to_pylist()
    payload = client.get("/api/examples.json").json()
    assert payload["id"] == [row["id"] for row in table]
    assert payload["columns"]["topic"] == [row["topic"] for row in table]
    assert payload["columns"]["score"][3] is None and payload["columns"]["flag"][0] == "true"
    assert payload["columns"]["parts"][4] == '["a", "4"]'
    assert client.get("/api/texts.json").json()["text"] == [row["text"] for row in table]
    example = client.get("/api/examples/17.json").json()
    assert (example["id"], example["text"], example["columns"]["many"]) == ("17", "text 17", "value 17")
    assert (example["full"], example["tsne"], example["image"], example["pooled"]) == (False, False, False, True)
    assert (example["example"], example["key"]) == (17, None) and "--model FOLDER" in example["note"]
    pooled = np.nan_to_num(atlas.read("pooled", 17).astype(float))
    sent = attention(client.get("/api/examples/17/pooled.bin")).reshape(pooled.shape)
    assert np.abs(sent - pooled).max() < HALF
    assert np.abs(attention(client.get("/api/maps/17/1.2.bin")) - pooled[1, 2].ravel()).max() < HALF


def test_tokens_match_the_table():
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
def test_errors_have_one_shape(client, path, status):
    assert error(client.get(f"/api/{path}"), status)["message"]


@pytest.mark.parametrize(
    ("path", "stage"),
    [("projections/pca.bin", "project"), ("clusterings/kmeans/clusters.json", "cluster")],
)
def test_a_missing_stage_names_its_command(path, stage):
    client = served.client(served.bare())
    card = client.get("/api/atlas.json").json()
    assert not card["clusterings"] and not card["projections"]
    assert [entry["done"] for entry in card["stages"]] == [True, True] + [False] * 6
    assert error(client.get(f"/api/{path}"), 404)["command"] == f"headatlas {stage} {served.bare().files.url}"


def test_responses_are_cached_by_the_client_until_the_atlas_changes(tmp_path):
    shutil.copytree(served.bare().files.url, tmp_path / "a.atlas")
    atlas = ha.open(tmp_path / "a.atlas")
    client = served.client(atlas)
    first = client.get("/api/atlas.json")
    assert first.headers["cache-control"] == "no-cache" and first.headers["content-encoding"] == "gzip"
    tag = first.headers["etag"]
    repeated = client.get("/api/atlas.json", headers={"if-none-match": tag})
    assert repeated.status_code == 304 and repeated.content == b"" and repeated.headers["etag"] == tag
    plain = client.get("/api/atlas.json", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers and plain.content == first.content
    cluster.kmeans(ha.open(tmp_path / "a.atlas"), k=5)  # as another process would
    new = client.get("/api/atlas.json", headers={"if-none-match": tag})
    assert new.status_code == 200 and new.headers["etag"] != tag
    assert [entry["name"] for entry in new.json()["clusterings"]] == ["kmeans"]
    assert len(words(client.get("/api/columns/cluster.kmeans.bin"))) == EXAMPLES * LAYERS * HEADS


def test_an_atlas_that_is_moved_is_reported_and_found_again(tmp_path):
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


def test_damaged_chunks_are_reported_and_not_sent(tmp_path):
    shutil.copytree(served.bare().files.url, tmp_path / "a.atlas")
    chunk = next((tmp_path / "a.atlas" / "collect.zarr" / "stats" / "c").rglob("0"), None)
    file = next(path for path in sorted(chunk.rglob("*")) if path.is_file())
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 255
    file.write_bytes(content)
    client = served.client(ha.open(tmp_path / "a.atlas"))
    assert "is damaged" in error(client.get("/api/columns/stat.previous.bin"), 503)["message"]


def test_two_atlases_at_once():
    first, second = served.client(served.full()), served.client(served.bare())
    assert first.get("/api/atlas.json").json()["name"] == "full.atlas"
    assert second.get("/api/atlas.json").json()["name"] == "bare.atlas"
    assert first.get("/api/atlas.json").headers["etag"] != second.get("/api/atlas.json").headers["etag"]


def test_unknown_numbers_are_null_and_never_nan(client):
    for path in ("atlas.json", "heads.json", "examples.json", "clusterings/kmeans/clusters.json"):
        text = client.get(f"/api/{path}").text
        json.loads(text, parse_constant=lambda name: pytest.fail(f"a response holds {name}"))
