"""Encoders trained on views of the same map: corrupted views, what is restored, training, and the packaged weights."""

from functools import cache

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import headatlas as ha
from headatlas.stages.features import encoders, network, restoration
from headatlas.stages.features.corruption import Corruption, MapViews, smoother
from headatlas.stages.features.patterns import patterns
from headatlas.stages.features.train import OBJECTIVES, train
from headatlas.stages.features.trained import TrainedEncoder


@cache
def sample():
    """All heads of the packaged model on 24 texts of the sample corpus."""
    texts = ha.data.load("sample", limit=24)
    return ha.collect.maps("packaged", texts, "memory://restoration-sample.atlas", qk_tokens=0)


def marked_maps(examples=8, heads=4):
    """Maps (example, head, 32, 32) that give their attention to one key each: that of their own number."""
    maps = np.zeros((examples, heads, 32, 32), np.float16)
    for number, place in enumerate(np.ndindex(examples, heads)):
        maps[place][:, number % 32] = 1
    return maps


def test_a_view_and_its_target_are_the_same_map():
    corruption = Corruption(mixed=0, causal=0, sink=0, cropped=0, coarse=0, smooth=0, generated=0)
    corrupted, maps = MapViews([marked_maps()], 0, corruption).draw(256)
    keys, corrupted_keys = maps.sum(1).argmax(-1), corrupted.sum(1).argmax(-1)
    assert len(torch.unique(keys)) == 32  # every example of every head has its own key
    assert torch.equal(keys, corrupted_keys)
    assert ((corrupted > 0).sum((1, 2)) < 32).float().mean() > 0.5 and (corrupted != maps).any()


def test_maps_are_drawn_alike_whichever_head_they_are_from():
    maps = marked_maps()
    as_heads, as_examples = (MapViews([each], 0, Corruption()) for each in (maps, maps.reshape(32, 1, 32, 32)))
    for first, second in zip(as_heads.draw(64), as_examples.draw(64), strict=True):
        assert torch.equal(first, second)


def test_maps_that_are_restored_have_rows_that_sum_to_one():
    faint = (0.9 * marked_maps() + 0.1 / 32).astype(np.float16)
    corrupted, maps = MapViews([faint], 3, Corruption()).draw(128)
    assert torch.allclose(maps.sum(-1), torch.ones(128, 32), atol=2e-3) and (corrupted >= 0).all()
    assert torch.allclose(smoother(maps).sum(-1), torch.ones(128, 32), atol=2e-3)
    unchanged = (corrupted == maps).all((1, 2)).float().mean()
    assert 0.1 < unchanged < 0.4


def test_distances_of_targets_are_hellinger_distances():
    maps = torch.from_numpy(patterns(22, 5)[0])
    targets = restoration.targets(maps)
    assert torch.allclose(targets[:, : 32 * 32].square().sum(1), torch.ones(22), atol=1e-4)
    distances = restoration.by_distance(maps)
    for offset in (-31, -1, 0, 5):
        sums = torch.stack([torch.diagonal(attention, offset).sum() for attention in maps]) / 32
        assert torch.allclose(distances[:, offset + 31], sums, atol=1e-5)
    assert torch.allclose(distances.sum(1), torch.ones(22), atol=1e-4)


def test_training_on_maps_learns_and_is_reproducible(tmp_path):
    paths, options = [tmp_path / name for name in ("one", "two", "other")], {"steps": 60, "batch": 96, "width": 32}
    facts = train([sample()], paths[0], **options)
    train([sample()], paths[1], **options)
    train([sample()], paths[2], seed=1, **options)
    assert paths[0].read_bytes() == paths[1].read_bytes() != paths[2].read_bytes()
    assert facts["views"] == network.facts(paths[0])["views"] == "map"
    assert facts["loss"]["last"] < 0.8 * facts["loss"]["first"]
    share, low, high = facts["held_out"][sample().header["model"]["name"]]
    assert 0.1 < low <= share <= high < 1


def test_vectors_are_as_far_apart_as_restored_maps():
    """The last linear map only turns what is restored: it neither stretches nor shrinks."""
    maps = sample().read("pooled").reshape(-1, 72, 32, 32)
    objective = restoration.Restoration([maps], 0, 24)
    trained = objective.trained.eval()
    objective.finish(trained)
    channels = network.images(maps[0])
    with torch.no_grad():
        vectors, restored = trained["net"](channels), restoration.restored(trained, torch.from_numpy(maps[0]))
    torch.testing.assert_close(torch.pdist(vectors), torch.pdist(restored), rtol=1e-3, atol=1e-4)
    with torch.no_grad():
        variances = torch.cat([trained["net"](network.images(example)) for example in maps]).var(0)
    assert (variances[1:] <= variances[:-1] * 1.001).all()


def test_the_file_says_whether_an_encoder_knows_heads(tmp_path):
    for kind, knows in (("map", False), ("heads", True)):
        train([sample()], tmp_path / f"{kind}.safetensors", views=kind, steps=1, batch=16)
        encoder = TrainedEncoder.open(str(tmp_path / f"{kind}.safetensors"), kind)
        assert encoder.knows_heads is knows
        again, arguments = encoder.__reduce__()
        assert again(*arguments).knows_heads is knows
    old = network.AttentionNet(hidden=16, depth=1, inner=12, width=8)
    tensors = {name: tensor for name, tensor in old.state_dict().items() if "num_batches" not in name}
    shape = '{"hidden": 16, "depth": 1, "inner": 12, "width": 8}'
    save_file(tensors, tmp_path / "old.safetensors", {**network.FORMAT, "shape": shape})
    assert TrainedEncoder.open(str(tmp_path / "old.safetensors"), "old").knows_heads is True


def test_each_kind_of_views_is_declared():
    assert OBJECTIVES.keys() == encoders.VIEWS.keys()


@pytest.mark.parametrize(("name", "knows"), [("maps", False), ("heads", True)])
def test_packaged_networks_say_whether_they_know_heads(name, knows):
    encoder = encoders.choose(name, "default", 1, 0).make(None)
    assert encoder.knows_heads is knows and encoder.name == name and encoder.width == 128


def test_the_packaged_network_encodes_each_map_on_its_own():
    net, maps = network.load(network.MAPS), patterns(40, 3)[0].astype(np.float16)
    maps[20:] = maps[:20]
    vectors = network.vectors(net, maps)
    assert vectors.shape == (40, 128) and np.isfinite(vectors).all()
    scale = np.abs(vectors).max()
    assert np.abs(vectors[:20] - vectors[20:]).max() < 1e-5 * scale
    maps[[3, 17]] = np.nan
    with_gaps = network.vectors(net, maps)
    others = np.setdiff1d(np.arange(40), [3, 17])
    assert np.isnan(with_gaps[[3, 17]]).all()
    assert np.abs(with_gaps[others] - vectors[others]).max() < 1e-5 * scale


def test_the_packaged_network_has_seen_no_heads_and_no_unseen_model():
    facts = network.facts(network.MAPS)
    assert network.MAPS.stat().st_size < 8e6 and facts["views"] == "map"
    models = [atlas["model"] for atlas in facts["atlases"]]
    assert "antiberty" in models and not any("smollm2" in model.lower() for model in models)
    card = (network.MAPS.parent / "CARD.md").read_text()
    for name, (share, _, _) in facts["held_out"].items():
        assert f"{share:.3f}" in card, name
