"""Queries and keys in one space as the page gets them: numbers against arrays, search against the table of tokens."""

import numpy as np
import pytest

import headatlas as ha
from headatlas.stages.qk.transform import scaled, translated
from headatlas.web import export_items, export_size
from headatlas.web.api.endpoints import ENDPOINTS
from headatlas.web.views import qk
from headatlas.web.views.snapshot import Snapshot
from support import served
from support.served import ask, attention, error, words

TEXTS = [
    "The cat sat on the mat, and then it slept.",
    "Who rang the bell? A man rang it.",
    "Rain fell on the sea in 2016.",
]
HEAD = {"layer": 1, "head": 4}


@pytest.fixture(scope="module")
def atlas():
    atlas = ha.collect.maps("packaged", TEXTS, served.folder() / "qk.atlas", resolution=8)
    ha.qk.embed(atlas, "pca", dims=3)
    ha.qk.embed(atlas, "pca")
    return atlas


@pytest.fixture(scope="module")
def client(atlas):
    return served.client(atlas)


@pytest.fixture(scope="module")
def card(client):
    return ask(client, ENDPOINTS.qk, embedding="pca").json()


@pytest.fixture(scope="module")
def tokens(client):
    return ask(client, ENDPOINTS.qk_tokens, embedding="pca").json()


def decoded(values, low, high):
    return np.where(values == 65535, np.nan, low + (high - low) * values / 65534)


def test_the_card_has_every_head_with_its_trust(atlas, card):
    rows = atlas.table("qk_heads", "pca").to_pylist()
    trust = atlas.read("qk_trust", of="pca")
    assert [(head["layer"], head["head"]) for head in card["heads"]] == [(row["layer"], row["head"]) for row in rows]
    for head, row in zip(card["heads"], rows, strict=True):
        assert all(head[name] == pytest.approx(row[name]) for name in ("spearman", "trust", "kept", "scale"))
        assert head["misplaced"] == pytest.approx((trust[row["layer"], row["head"]] < 0.8).mean())
    assert card["tokens"] == atlas.table("qk_points").num_rows and card["dims"] == 2
    assert len(card["map"]) == 144 and len(card["related"]) == 720
    assert {column["name"] for column in card["columns"]} >= {"position", "token_length", "special", "punctuation"}


def test_tokens_are_those_of_the_table_and_a_search_counts_every_occurrence(atlas, tokens):
    points, table = atlas.table("qk_points", "pca"), atlas.table("tokens")
    texts = table["text"].take(points["token"]).to_pylist()
    assert [tokens["texts"][text] for text in tokens["text"]] == texts
    assert tokens["example"] == points["example"].to_pylist()
    assert tokens["position"] == points["position"].to_pylist()
    assert tokens["special"] == [place for place, text in enumerate(texts) if text in ("[CLS]", "[SEP]")]
    number = tokens["texts"].index("the")
    assert tokens["text"].count(number) == texts.count("the") == 4
    assert tokens["sample"] == list(range(len(texts)))  # few: all are shown


def test_positions_are_those_of_the_array_up_to_scale(atlas, client, card):
    everything = words(ask(client, ENDPOINTS.qk_sample, embedding="pca")).reshape(6, 12, 2 * card["tokens"], 2)
    for layer in (0, 5):
        sent = words(ask(client, ENDPOINTS.qk_positions, embedding="pca", layer=layer)).reshape(everything.shape[1:])
        assert (sent == everything[layer]).all()
        for head, stored in enumerate(atlas.read("qk_position", (layer,), "pca")):
            span = float((stored.max(0) - stored.min(0)).max())
            middle = (stored.max(0) + stored.min(0)) / 2
            assert (sent[head] / 65534 - 0.5) * span + middle == pytest.approx(stored, abs=2e-5 * span)


def test_three_axes_have_one_scale(atlas, client):
    layer = words(ask(client, ENDPOINTS.qk_positions, embedding="pca-3d", layer=2)).reshape(12, -1, 3)
    stored = atlas.read("qk_position", (2, 7), "pca-3d")
    assert np.ptp(layer[7], 0) / 65534 == pytest.approx(np.ptp(stored, 0) / np.ptp(stored, 0).max(), abs=1e-3)


def test_norms_trust_and_kept_neighbors_are_those_of_the_arrays(atlas, client, card):
    ends = {"norm": (card["norm_low"], card["norm_high"]), "trust": (0, 1), "kept": (0, 1)}
    for measure, (low, high) in ends.items():
        stored = atlas.read(f"qk_{measure}", of="pca")
        sent = words(ask(client, ENDPOINTS.qk_sampled_amounts, embedding="pca", measure=measure)).reshape(stored.shape)
        assert decoded(sent, low, high) == pytest.approx(stored, abs=(high - low) / 65534)
        layer = words(ask(client, ENDPOINTS.qk_amounts, embedding="pca", measure=measure, layer=3))
        assert (layer == sent[3].ravel()).all()


def test_columns_are_those_of_the_table(atlas, client, card):
    table = atlas.table("qk_points", "pca")
    for column in card["columns"]:
        sent = words(ask(client, ENDPOINTS.qk_column, embedding="pca", column=column["name"]))
        stored = table[column["name"]].to_pylist()
        if column["kind"] == "number":
            if column["name"] in qk.SPECIAL_IS_NEGATIVE:  # special tokens are sent as unknown
                stored = [np.nan if value < 0 else value for value in stored]
            near = pytest.approx(stored, abs=column["high"] / 1e4, nan_ok=True)
            assert decoded(sent, column["low"], column["high"]) == near
        else:
            assert [column["categories"][code] for code in sent] == [str(value).lower() for value in stored]


def vectors(atlas, layer, head):
    """Queries and keys of all tokens of a head, in the order of the points."""
    sampled = atlas.table("sampled").to_pylist()
    rows = np.concatenate([np.arange(row["tokens"]) + row["offset"] for row in sampled])
    read = {name: atlas.read(name)[rows, layer, head].astype(np.float64) for name in ("query", "key")}
    return read["query"], read["key"]


def test_the_strongest_keys_are_those_of_the_softmax(atlas, client, tokens):
    query, key = vectors(atlas, **HEAD)
    count = len(query)
    sent = words(ask(client, ENDPOINTS.qk_keys, embedding="pca", **HEAD)).reshape(2, count, -1)
    weights = attention(ask(client, ENDPOINTS.qk_keys, embedding="pca", **HEAD)).reshape(2, count, -1)[1]
    for example in sorted(set(tokens["example"])):
        inside = np.flatnonzero(np.array(tokens["example"]) == example)
        scores = query[inside] @ key[inside].T / np.sqrt(query.shape[1])
        soft = np.exp(scores - scores.max(1, keepdims=True))
        soft /= soft.sum(1, keepdims=True)
        best = -np.sort(-soft, axis=1)[:, : weights.shape[1]]
        assert weights[inside] == pytest.approx(best, abs=1e-4)
        assert np.take_along_axis(soft, sent[0][inside].astype(int), 1) == pytest.approx(best)


def test_the_strongest_keys_are_those_of_the_model(atlas, client, tokens):
    """Full maps of the model itself, within what float16 keeps of queries and keys."""
    count = len(tokens["example"])
    first = tokens["example"].count(0)
    sent = ask(client, ENDPOINTS.qk_keys, embedding="pca", **HEAD)
    places = words(sent).reshape(2, count, -1)[0][:first].astype(int)
    weights = attention(sent).reshape(2, count, -1)[1][:first]
    full = attention(ask(client, ENDPOINTS.full_map, example=0, **HEAD)).reshape(first, first)
    assert weights == pytest.approx(np.take_along_axis(full, places, 1), abs=0.02)


def test_neighbors_are_the_nearest_in_the_joint_space(atlas, client, card):
    query, key = vectors(atlas, **HEAD)
    scale = next(row["scale"] for row in card["heads"] if (row["layer"], row["head"]) == (1, 4))
    joint = np.concatenate(scaled(query, translated(query, key)[0], scale))
    for point in (0, 5, len(query) + 3):
        near = ask(client, ENDPOINTS.qk_neighbors, embedding="pca", point=point, **HEAD).json()
        distances = np.linalg.norm(joint - joint[point], axis=1)
        order = [other for other in np.argsort(distances, kind="stable") if other != point]
        assert [entry["point"] for entry in near["points"]][:10] == order[:10]
        assert [entry["distance"] for entry in near["points"]] == pytest.approx(
            np.sort(distances)[1 : len(near["points"]) + 1], rel=1e-3
        )
    assert error(ask(client, ENDPOINTS.qk_neighbors, embedding="pca", point=2 * len(query), **HEAD), 404)


def test_honesty_counts_every_pair_and_its_correlation_is_that_of_the_table(atlas, client, card):
    from scipy.stats import spearmanr

    honesty = ask(client, ENDPOINTS.qk_honesty, embedding="pca", **HEAD).json()
    query, key = vectors(atlas, **HEAD)
    scale = next(row["scale"] for row in card["heads"] if (row["layer"], row["head"]) == (1, 4))
    moved = translated(query, key)[0]
    near, near_keys = scaled(query, moved, scale)
    distances = np.linalg.norm(near[:, None] - near_keys[None], axis=-1)
    assert honesty["pairs"] == sum(honesty["counts"]) == distances.size
    assert honesty["distance"] == pytest.approx([distances.min(), distances.max()], rel=1e-4)
    assert honesty["product"] == pytest.approx([(query @ moved.T).min(), (query @ moved.T).max()], rel=1e-4)
    spearman = next(row["spearman"] for row in card["heads"] if (row["layer"], row["head"]) == (1, 4))
    assert spearmanr(distances.ravel(), (query @ moved.T).ravel()).statistic == pytest.approx(spearman, abs=1e-3)


def test_groupings_name_position_for_a_head_of_positions(client):
    """L0·H2 of the packaged model attends to the previous token, whatever it is."""
    groupings = ask(client, ENDPOINTS.qk_honesty, embedding="pca", layer=0, head=2).json()["groupings"]
    assert groupings[0]["column"] == "position" and groupings[0]["strength"] > 0.3
    strengths = {grouping["column"]: grouping["strength"] for grouping in groupings}
    assert strengths["position"] > strengths["token"] and "role" in strengths


def test_a_large_atlas_sends_a_sample_that_is_part_of_all(atlas, monkeypatch):
    monkeypatch.setattr(qk, "MOST_TOKENS", 7)
    client = served.client(ha.open(atlas.files.url))
    tokens = ask(client, ENDPOINTS.qk_tokens, embedding="pca").json()
    assert len(tokens["sample"]) == 7 and tokens["sample"] == sorted(tokens["sample"])
    count = len(tokens["example"])
    points = [*tokens["sample"], *(count + token for token in tokens["sample"])]
    sampled = words(ask(client, ENDPOINTS.qk_sample, embedding="pca")).reshape(6, 12, 14, 2)
    layer = words(ask(client, ENDPOINTS.qk_positions, embedding="pca", layer=4)).reshape(12, 2 * count, 2)
    assert (sampled[4] == layer[:, points]).all()
    trust = words(ask(client, ENDPOINTS.qk_sampled_amounts, embedding="pca", measure="trust")).reshape(6, 12, 14)
    layer = words(ask(client, ENDPOINTS.qk_amounts, embedding="pca", measure="trust", layer=4)).reshape(12, 2 * count)
    assert (trust[4] == layer[:, points]).all()


def test_what_is_missing_is_said(atlas, client):
    assert "pca" in error(ask(client, ENDPOINTS.qk, embedding="tsne"), 404)["message"]
    assert error(ask(client, ENDPOINTS.qk_positions, embedding="pca", layer=6), 404)
    assert error(ask(client, ENDPOINTS.qk_honesty, embedding="pca", layer=0, head=12), 404)
    assert "position" in error(ask(client, ENDPOINTS.qk_column, embedding="pca", column="no"), 404)["message"]
    missing = error(ask(served.client(served.real()), ENDPOINTS.qk, embedding="pca"), 404)
    assert "headatlas qk" in missing["command"]


def test_an_export_has_every_file_of_the_tab(atlas):
    snapshot = Snapshot(atlas)
    paths = {item.path for item in export_items.stored(snapshot, [])}
    for name in ("pca", "pca-3d"):
        of = {"embedding": name}
        assert {ENDPOINTS.qk.path(**of), ENDPOINTS.qk_tokens.path(**of), ENDPOINTS.qk_sample.path(**of)} <= paths
        assert ENDPOINTS.qk_column.path(column="position", **of) in paths
        for layer in range(6):
            assert ENDPOINTS.qk_positions.path(layer=layer, **of) in paths
            assert ENDPOINTS.qk_amounts.path(layer=layer, measure="kept", **of) in paths
        assert ENDPOINTS.qk_honesty.path(layer=5, head=11, **of) in paths
        assert ENDPOINTS.qk_keys.path(layer=5, head=11, **of) in paths
    written = sum(len(_bytes(item, snapshot)) for item in export_items.stored(snapshot, []) if "/qk/" in item.path)
    assert export_size.embedding_bytes(snapshot) == pytest.approx(written, rel=0.3)


def _bytes(item, snapshot):
    response = item.read(snapshot)
    return response if isinstance(response, bytes) else response.model_dump_json().encode()
