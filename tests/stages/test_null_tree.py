"""Null models of a tree: shares at any cut are sums over leaves, and small models and trees work."""

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel

import headatlas as ha
from headatlas import null
from headatlas.atlas.schema import NOISE
from headatlas.errors import DataError, StoreError
from headatlas.null.block import NullModels, Source, Task, cluster_labels
from headatlas.stages.cluster.membership import read_clusters
from headatlas.stages.features.fitted import load_encoder
from headatlas.web.views.nulls import null_models
from headatlas.web.views.snapshot import Snapshot
from support.nulls import TEXTS, without_nulls

KINDS = ("permuted", "shuffled")


@pytest.fixture(scope="module")
def tree(null_atlas, packaged_model, tmp_path_factory):
    atlas = without_nulls(null_atlas, tmp_path_factory.mktemp("tree"))
    ha.cluster.tree(atlas, of="stats", k=5, name="tree")
    null.references(atlas, of="tree", kinds=KINDS, model=packaged_model)
    return atlas


def test_shares_at_any_cut_are_sums_over_leaves(tree, packaged_model):
    leaves, shares = tree.table("null_leaves", "tree").to_pandas(), tree.table("null_shares", "tree").to_pandas()
    nodes = tree.table("nodes", "tree").to_pandas()
    payload = {row.kind: row for row in null_models(Snapshot(tree), "tree").nodes}
    source = Source("tree", "stats", read_clusters(tree, "tree"), load_encoder(tree, "stats"), 256,
                    NullModels(packaged_model, 0))  # fmt: skip
    for kind in KINDS:
        assigned = cluster_labels(tree, source, Task(kind, list(range(TEXTS))))
        counts = leaves[leaves.kind == kind].set_index("leaf")
        assert counts.index.tolist() == list(range((len(nodes) + 1) // 2))
        of_kind = shares[shares.kind == kind].set_index("cluster")
        outside = int(of_kind[of_kind.index.isna()].maps.iloc[0])
        assert counts.maps.sum() + outside == assigned.labels.size == 864
        assert outside == (assigned.patterns == NOISE).sum() == (assigned.leaves == NOISE).sum()
        for node in nodes.itertuples():
            inside = (assigned.leaves >= node.first_leaf) & (assigned.leaves <= node.last_leaf)
            maps = counts.loc[node.first_leaf : node.last_leaf].sum()
            assert maps.maps == inside.sum()
            assert payload[kind].share[node.node] == pytest.approx(maps.maps / 864)
            assert payload[kind].share_real[node.node] == pytest.approx(maps.maps_real / 864)
            if node.cut:
                row = of_kind.loc[node.cluster]
                assert row.maps == maps.maps and row.share_real == pytest.approx(maps.maps_real / 864)


def test_the_model_itself_is_counted_at_its_leaves(tree):
    table = tree.table("null_leaves", "tree").to_pandas()
    stored, labels = tree.read("leaves", of="tree"), tree.read("labels", of="tree")
    real = table[table.kind == "shuffled"].maps_real.to_numpy()
    whole = np.bincount(stored.ravel(), minlength=len(real))
    assert (real <= whole).all() and 0.95 <= real.sum() / whole.sum() < 0.95 + 5 / labels.size + 1e-9


def test_other_methods_have_no_leaves(null_atlas):
    assert not null_atlas.has_table("null_leaves", "stats")
    assert null_models(Snapshot(null_atlas), "stats").nodes == []


def small_model(packaged_model, heads):
    """A model of one layer with few heads."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": heads}
    network = BertModel(BertConfig(vocab_size=packaged_model.tokenizer.vocab_size, **sizes)).eval()
    return ha.models.load(network, tokenizer=packaged_model.tokenizer)


@pytest.mark.parametrize(
    ("heads", "texts"),
    [(1, ["The tide turns.", "Rain, rain, go away."]), (2, ["The tide turns."]), (2, ["The same."] * 24)],
    ids=["one head", "one text", "equal texts"],
)
def test_few_heads_and_few_or_equal_texts(packaged_model, heads, texts):
    model = small_model(packaged_model, heads)
    atlas = ha.collect.maps(model, texts, f"memory://few-{heads}-{len(texts)}.atlas", resolution=8)
    ha.features.image(atlas, "pooled")
    ha.cluster.tree(atlas)
    ha.correlate.clusters(atlas, permutations=9)
    null.references(atlas, model=model)
    leaves = atlas.table("null_leaves").to_pandas()
    assert set(leaves.kind) == {"untrained", "permuted", "shuffled"}
    assert leaves.groupby("kind").maps_real.sum().max() <= heads * len(texts)
    assert f"{heads} head" in null.summary(atlas)
    assert "on the same examples" in " ".join(ha.correlate.summary(atlas).split())


def test_one_map_is_nothing_to_cluster(packaged_model):
    atlas = ha.collect.maps(small_model(packaged_model, 1), ["Rain."], "memory://one-map.atlas", resolution=8)
    ha.features.image(atlas, "pooled")
    with pytest.raises(DataError, match="all maps have the same features: nothing to cluster"):
        ha.cluster.tree(atlas)
    with pytest.raises(StoreError, match="cluster"):
        null.references(atlas)
