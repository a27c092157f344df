"""Our encoder: the network and its file, training, generated patterns, head retrieval, and the packaged weights."""

import json
import re
from functools import cache

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

import headatlas as ha
from headatlas.atlas import engine
from headatlas.atlas.store import Atlas
from headatlas.errors import DataError, ModelError, OptionError, StoreError
from headatlas.numeric import metrics
from headatlas.numeric.pooling import pool
from headatlas.stages.features import network, patterns, views
from headatlas.stages.features import train as train_module
from headatlas.stages.features.train import train


@cache
def sample():
    """All heads of the packaged model on 24 texts of the sample corpus."""
    return ha.collect.maps("packaged", ha.data.load("sample", limit=24), "memory://encoder-sample.atlas", qk_tokens=0)


def some_maps(count=20, seed=3):
    return patterns.patterns(count, seed)[0]


def slow_retrieval(vectors):
    """Share of maps whose nearest neighbor in another example belongs to the same head, one pair at a time."""
    hits = []
    for e, h in np.ndindex(vectors.shape[:2]):
        best, nearest = -np.inf, None
        for other, head in np.ndindex(vectors.shape[:2]):
            a, b = vectors[e, h], vectors[other, head]
            if other == e or np.isnan(a).any() or np.isnan(b).any():
                continue
            cosine = a @ b / np.sqrt((a @ a) * (b @ b))
            if cosine > best:
                best, nearest = cosine, head
        if nearest is not None:
            hits.append(nearest == h)
    return np.mean(hits)


def test_head_retrieval_matches_a_slow_loop():
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((1, 7, 5)) + 1.5 * rng.standard_normal((6, 7, 5))
    vectors[2, 3] = np.nan
    vectors[:, 6] = np.nan
    score, low, high = metrics.head_retrieval(vectors)
    assert score == pytest.approx(slow_retrieval(vectors), abs=1e-12)
    assert 0 < low < score < high < 1
    assert metrics.head_retrieval(vectors, queries=10, seed=1) == metrics.head_retrieval(vectors, queries=10, seed=1)


def test_head_retrieval_of_one_example_is_nan():
    assert np.isnan(metrics.head_retrieval(np.ones((1, 3, 2)))).all()


def test_patterns_have_rows_that_sum_to_one():
    for r in (32, 7):
        maps, labels, names = patterns.patterns(44, 1, r)
        assert maps.shape == (44, r, r) and (np.bincount(labels) == 4).all() and len(names) == 11
        assert np.allclose(maps.sum(-1), 1, atol=1e-5) and (maps >= 0).all()
    assert np.array_equal(some_maps(5), some_maps(5)) and not np.array_equal(some_maps(5), some_maps(5, 4))


def test_patterns_match_their_names():
    n, rng = 32, np.random.default_rng(0)
    maps = {name: pool(generate(n, rng), n) for name, generate in patterns.GENERATORS.items()}
    inner = np.arange(1, n - 1)
    assert (maps["previous"][inner, inner - 1] == 1).all() and (maps["next"][inner, inner + 1] == 1).all()
    assert (np.diag(maps["self"]) == 1).all() and (maps["first"][:, 0] == 1).all()
    assert (maps["separator"][:, -1] > 0.4).all() and np.allclose(maps["uniform"], 1 / n)
    for name in ("block", "same", "local"):
        assert np.array_equal(maps[name] > 0, (maps[name] > 0).T), name
    distance = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    assert maps["local"][distance > n // 8].max() == 0 and maps["local"][distance <= 2].min() > 0
    assert (maps["stripes"] == maps["stripes"][0]).all() and 3 <= (maps["stripes"][0] > 0).sum() <= 7
    assert maps["stripes"][0, [0, -1]].max() == 0


def test_views_keep_rows_and_directions():
    maps = torch.from_numpy(some_maps(22))
    full = views.crop(maps, torch.zeros(22), torch.ones(22))
    assert torch.allclose(full, maps, atol=1e-5)
    half = views.crop(maps, torch.full((22,), 0.5), torch.full((22,), 0.5))
    corner = maps[:, 16:, 16:] / maps[:, 16:, 16:].sum(-1, keepdim=True)
    pooled_again = views.coarser(half, 16)[:, ::2, ::2] * 2
    assert torch.allclose(pooled_again, corner, atol=1e-3)
    assert torch.allclose(views.coarser(maps, 20).sum(-1), torch.ones(22, 32), atol=1e-5)


def test_a_saved_network_is_the_same(tmp_path):
    torch.manual_seed(0)
    net = network.AttentionNet(hidden=16, depth=1, inner=12, width=8).eval()
    network.save(net, tmp_path / "a.safetensors", {"seed": 5})
    loaded = network.load(tmp_path / "a.safetensors")
    assert np.allclose(network.vectors(net, some_maps()), network.vectors(loaded, some_maps()), atol=1e-2)
    assert network.facts(tmp_path / "a.safetensors") == {"seed": 5}
    network.save(loaded, tmp_path / "b.safetensors", {"seed": 5})
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()
    assert len(list(tmp_path.iterdir())) == 2


def test_files_that_are_not_encoders_are_refused(tmp_path):
    net = network.AttentionNet(hidden=16, depth=1, inner=12, width=8)
    good = {name: tensor for name, tensor in net.state_dict().items() if "num_batches" not in name}
    shape = {**network.FORMAT, "shape": json.dumps(net.shape)}
    (tmp_path / "text").write_text("no safetensors")
    save_file(good, tmp_path / "foreign", {"format": "pt"})
    save_file(good, tmp_path / "shapeless", network.FORMAT)
    save_file(good, tmp_path / "later", {**shape, "version": "9"})
    save_file({**good, "turn": torch.zeros(3, 8)}, tmp_path / "misshapen", shape)
    save_file({name: tensor for name, tensor in good.items() if name != "centre"}, tmp_path / "incomplete", shape)
    save_file({**good, "more": torch.zeros(1)}, tmp_path / "toomuch", shape)
    content = (tmp_path / "misshapen").read_bytes()
    (tmp_path / "cut").write_bytes(content[: len(content) // 2])
    reasons = {
        "absent": "there is no encoder",
        "text": "cannot be read as safetensors",
        "cut": "cannot be read as safetensors",
        "foreign": "is not an encoder made by",
        "shapeless": "does not record the shape",
        "later": "later version",
        "misshapen": "turn is missing",
        "incomplete": "centre is missing",
        "toomuch": "more is missing, unexpected",
    }
    for name, reason in reasons.items():
        with pytest.raises(ModelError, match=reason) as caught:
            network.load(tmp_path / name)
        assert "\n" not in str(caught.value) and name in str(caught.value)


def test_a_vector_does_not_depend_on_its_neighbors():
    net, maps = network.load(), some_maps(40).astype(np.float16)
    together = network.vectors(net, maps)
    alone = np.concatenate([network.vectors(net, attention[None]) for attention in maps])
    scale = np.abs(together).max()
    assert np.abs(together - alone).max() < 1e-5 * scale
    maps[[3, 17]] = np.nan
    holed = network.vectors(net, maps)
    assert np.isnan(holed[[3, 17]]).all()
    others = np.setdiff1d(np.arange(40), [3, 17])
    assert np.abs(holed[others] - together[others]).max() < 1e-5 * scale


def test_maps_of_any_size_and_type_are_accepted():
    net = network.load()
    for r in (2, 8, 32, 48):
        maps = patterns.patterns(4, 0, r)[0]
        vectors = network.vectors(net, maps)
        assert vectors.shape == (4, net.shape["width"]) and np.isfinite(vectors).all()
        assert torch.equal(network.images(maps), network.images(torch.from_numpy(maps)))
    maps = torch.from_numpy(patterns.patterns(4, 0, 64)[0])
    assert torch.allclose(network.resized(maps).sum(-1), torch.ones(4, 32), atol=1e-5)
    assert np.isfinite(network.vectors(net, np.zeros((1, 32, 32)))).all()


def test_training_improves_retrieval_and_is_reproducible(tmp_path):
    paths = [tmp_path / name for name in ("one", "two", "other")]
    options = {"views": "heads", "steps": 16, "batch": 96, "width": 32}
    facts = train([sample()], paths[0], **options)
    train([sample()], paths[1], **options)
    train([sample()], paths[2], seed=1, **options)
    assert paths[0].read_bytes() == paths[1].read_bytes() != paths[2].read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "other", "two"]
    assert facts["loss"]["last"] < 0.8 * facts["loss"]["first"]
    score, low, high = facts["held_out"][sample().header["model"]["name"]]
    assert 0 <= low <= score <= high <= 1
    texts = list(ha.data.load("sample"))[24:36]
    maps = ha.collect.maps("packaged", texts, "memory://encoder-unseen.atlas", qk_tokens=0).read("pooled")
    torch.manual_seed(0)
    nets = network.AttentionNet().eval(), network.load(paths[0])
    before, after = (metrics.head_retrieval(network.vectors(net, maps.reshape(12, 72, 32, 32)))[0] for net in nets)
    assert after > before + 0.1, (before, after)


class Stopped(KeyboardInterrupt):
    pass


def test_stopped_training_leaves_nothing(tmp_path, monkeypatch):
    def stop(*_):
        raise Stopped

    monkeypatch.setattr("headatlas.stages.features.network.save", stop)
    with pytest.raises(Stopped):
        train([sample()], tmp_path / "net.safetensors", steps=1, batch=16)
    assert not list(tmp_path.iterdir())


def memory_atlas(name, maps, done=True):
    atlas = Atlas.create(f"memory://{name}.atlas", {"model": {"name": name}, "data": {"name": name}})
    sizes = dict(zip(("example", "layer", "head", "query", "key"), maps.shape, strict=True))
    with engine.result(atlas, "collect", "collect", {}) as result:
        result.create_array("pooled", sizes, 128)
        result.write_blocks("pooled", 0, maps)
        if done:
            result.finish({})
    return atlas


def test_training_reports_what_it_cannot_use(tmp_path):
    path, maps = tmp_path / "net.safetensors", some_maps(24).astype(np.float16).reshape(6, 2, 2, 32, 32)
    cases = [
        ([], OptionError, "at least one atlas"),
        ([memory_atlas("unfinished", maps, done=False)], StoreError, "unfinished.atlas is not finished"),
        ([memory_atlas("single", maps[:1])], DataError, "1 example: two views"),
        ([memory_atlas("empty", np.full_like(maps, np.nan))], DataError, "every head contains NaN"),
    ]
    for atlases, kind, reason in cases:
        with pytest.raises(kind, match=re.escape(reason)):
            train(atlases, path, views="heads", steps=1)
    for options in ({"steps": 0}, {"batch": 1}, {"width": 1}, {"threads": 0}):
        with pytest.raises(OptionError, match="at least"):
            train([sample()], path, **options)
    with pytest.raises(OptionError, match="views 'texts': choose map or heads"):
        train([sample()], path, views="texts")
    maps[:, 1, 1] = np.nan
    for kind in train_module.OBJECTIVES:
        facts = train([memory_atlas(f"holed-{kind}", maps)], path, views=kind, steps=2, batch=16)
        assert facts["atlases"][0]["heads"] == 3 and facts["held_out"] == {f"holed-{kind}": None}
        assert np.isfinite(network.vectors(network.load(path), some_maps())).all()


def test_the_packaged_encoder_recognizes_heads():
    maps = sample().read("pooled").reshape(24, 72, 32, 32)
    rooted = np.sqrt(maps.astype(np.float32)).reshape(24 * 72, -1)
    plain = PCA(64, random_state=0).fit_transform(rooted).reshape(24, 72, -1)
    ours = metrics.head_retrieval(network.vectors(network.load(), maps))
    pooled = metrics.head_retrieval(plain)
    assert ours[1] > pooled[2] + 0.1, (ours, pooled)


def test_the_packaged_encoder_separates_patterns():
    maps, labels, names = patterns.patterns(660, 11)
    vectors = network.vectors(network.load(), maps)
    clusters = KMeans(len(names), n_init=10, random_state=0).fit_predict(vectors)
    assert adjusted_rand_score(labels, clusters) >= 0.9


def test_the_packaged_file_records_how_it_was_made():
    facts = network.facts()
    assert network.HEADS.stat().st_size < 8e6
    assert [atlas["model"] for atlas in facts["atlases"]] == ["antiberty", "minilm", "smollm2"]
    card = (network.HEADS.parent / "CARD.md").read_text()
    for name, (score, _, _) in facts["held_out"].items():
        assert f"{score:.3f}" in card, name
