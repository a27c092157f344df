"""The tree of a clustering as the page gets it: levels, names, mean maps, leaves, sentences."""

import shutil

import numpy as np
import pytest

import headatlas as ha
from headatlas import cluster
from headatlas.atlas import summaries, trees
from headatlas.atlas.schema import MISSING
from headatlas.web.api.endpoints import ENDPOINTS
from support import served
from support.served import ask, attention, error, words


@pytest.fixture(scope="module")
def atlas():
    return served.full()


@pytest.fixture(scope="module")
def client(atlas):
    return served.client(atlas)


@pytest.fixture(scope="module")
def tree(client):
    return ask(client, ENDPOINTS.tree, clustering="tree").json()


def test_the_card_says_which_clusterings_have_levels(client, tree):
    cards = {card["name"]: card for card in ask(client, ENDPOINTS.atlas).json()["clusterings"]}
    assert cards["kmeans"]["finest"] is None and cards["loose.one"]["finest"] is None
    assert cards["tree"]["finest"] == max(node["finest"] for node in tree["nodes"]) == 60
    assert cards["tree"]["clusters"] == tree["default"]
    columns = {column["slug"] for column in ask(client, ENDPOINTS.atlas).json()["columns"]}
    assert tree["leaves"] not in columns  # nobody wants to color by leaves


def test_every_level_labels_every_map(client, tree, atlas):
    nodes, leaves = atlas.table("nodes", "tree"), atlas.read("leaves", of="tree")
    sent = words(ask(client, ENDPOINTS.column, column=tree["leaves"])).astype(int)
    assert (sent == np.where(leaves == MISSING, 65534, leaves).ravel()).all()
    for level in (1, 2, tree["default"], 23, 60):
        cut = [node for node in tree["nodes"] if node["coarsest"] <= level <= node["finest"]]
        assert sorted(node["node"] for node in cut) == sorted(cluster.nodes_at(nodes, level))
        inside = np.array([(sent >= node["first_leaf"]) & (sent <= node["last_leaf"]) for node in cut])
        assert (inside.sum(0) == (sent != 65534)).all()
        assert inside.sum(1).tolist() == [node["maps"] for node in cut]


def test_nodes_have_the_names_of_the_tables(tree, atlas):
    rows = {row["node"]: row for row in atlas.table("nodes", "tree").to_pylist()}
    named = {row["node"]: row for row in atlas.table("node_names", "tree").to_pylist()}
    clusters = {row["cluster"]: row["name"] for row in atlas.table("clusters", "tree").to_pylist()}
    nodes = {node["node"]: node for node in tree["nodes"]}
    assert tree["nodes"][0]["parent"] is None and named.keys() <= nodes.keys()
    for node, sent in nodes.items():
        assert sent["parent"] is None or sent["parent"] in nodes
        assert {name: sent[name] for name in ("stability", "low", "high", "share")} == {
            name: rows[node][name] for name in ("stability", "low", "high", "share")
        }
        if sent["cluster"] is not None:
            assert sent["name"] == clusters[sent["cluster"]]
        elif node in named:
            assert sent["name"] == named[node]["name"] and sent["phrases"] == named[node]["phrases"]
            assert [reason["statistic"] for reason in sent["reasons"]] == [
                reason["statistic"] for reason in named[node]["reasons"]
            ]
        else:
            above = sent["parent"]
            while above not in named:
                above = nodes[above]["parent"]
            assert sent["name"] == f"part of {named[above]['name']}" and sent["phrases"] is None


def test_sentences_count_the_patterns_of_each_level(client, tree):
    assert len(tree["sentences"]) == 60
    for level, sentence in enumerate(tree["sentences"], 1):
        assert f" {level} pattern{'s' if level > 1 else ''} (" in sentence
    assert (
        tree["sentences"][tree["default"] - 1] == ask(client, ENDPOINTS.clusters, clustering="tree").json()["sentence"]
    )


def mean_maps(atlas, tree):
    """The mean of the maps of each node, by a slow loop."""
    leaves, pooled = atlas.read("leaves", of="tree"), atlas.read("pooled").astype(np.float64)
    return [pooled[(leaves >= node["first_leaf"]) & (leaves <= node["last_leaf"])].mean(0) for node in tree["nodes"]]


def test_mean_maps_are_those_of_all_maps(client, tree, atlas):
    sent = attention(ask(client, ENDPOINTS.tree_means, clustering="tree")).reshape(len(tree["nodes"]), 8, 8)
    np.testing.assert_allclose(sent, mean_maps(atlas, tree), atol=2e-4)


def test_mean_maps_of_a_sample_are_close(tree, atlas, monkeypatch):
    monkeypatch.setattr(summaries, "PIECES", 1)  # one block of five …
    monkeypatch.setattr(summaries, "ENOUGH", 1)  # … and a map of each part that is not in it
    difference = abs(trees.node_maps(atlas, "tree") - np.array(mean_maps(atlas, tree))).max()
    assert 2e-4 < difference < 0.05


def test_before_correlate_nodes_have_numbers(tmp_path):
    atlas = ha.open(shutil.copytree(served.bare().files.url, tmp_path / "x.atlas"))
    cluster.tree(atlas, k=4)
    nodes = ask(served.client(atlas), ENDPOINTS.tree, clustering="tree").json()["nodes"]
    assert nodes[0]["name"] == "all maps" and nodes[0]["phrases"] is None
    for node in nodes[1:]:
        assert node["name"] == (f"node {node['node']}" if node["cluster"] is None else f"cluster {node['cluster']}")


@pytest.mark.parametrize("endpoint", [ENDPOINTS.tree, ENDPOINTS.tree_means])
def test_other_clusterings_have_no_tree(client, endpoint):
    assert "is not a tree" in error(ask(client, endpoint, clustering="kmeans"), 404)["message"]
    assert "no clustering called" in error(ask(client, endpoint, clustering="none"), 404)["message"]
