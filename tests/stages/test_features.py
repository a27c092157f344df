"""Vectors of maps: against scikit-learn, Pillow and slow loops; on any number of workers, and after damage."""

import hashlib
import pickle
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA

import headatlas as ha
from headatlas.atlas import summaries
from headatlas.errors import ModelError, OptionError, StoreError
from headatlas.models import packaged
from headatlas.numeric.sampling import systematic_sample
from headatlas.stages.features import baselines, block, network, sample
from headatlas.stages.features.trained import TrainedEncoder
from support.atlases import folders, stopping, unfinish, writer
from support.planted import STATS, drawn, planted

PREFERENCE = np.random.default_rng(3).random((2, 3, 5)) ** 4


def small(path, examples=40, **options):
    """An atlas of 2 layers × 3 heads."""
    return planted(path, drawn(PREFERENCE, examples), **options)


def bits(folder):
    """Every file of the features by its digest."""
    files = [path for part in ("features.zarr", "manifests/features") for path in (Path(folder) / part).rglob("*")]
    return {str(f.relative_to(folder)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files if f.is_file()}


def flat(atlas, name):
    """All existing maps of an array, one row per map."""
    values = atlas.read(name).astype(np.float64)
    rows = values.reshape(-1, *values.shape[3:])
    return rows[~np.isnan(rows.reshape(len(rows), -1)).all(1)]


def assert_equal_up_to_sign(actual, expected, tolerance):
    signs = np.sign((actual * expected).sum(0))
    np.testing.assert_allclose(actual * signs, expected, atol=tolerance)


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """A real atlas: the packaged model on twelve texts."""
    path = tmp_path_factory.mktemp("real") / "real.atlas"
    return ha.collect.maps("packaged", ha.data.load("sample", limit=12), path, resolution=16, qk_tokens=0)


# pooled


@pytest.mark.parametrize("atlas", ["planted", "real"])
def test_pooled_is_the_principal_components_of_the_roots(atlas, real, tmp_path):
    atlas = real if atlas == "real" else small(tmp_path / "a.atlas", missing=[(1, 2)])
    vectors = ha.features.image(atlas, "pooled")[:].astype(np.float64)
    vectors = vectors.reshape(-1, vectors.shape[-1])
    maps = np.sqrt(flat(atlas, "pooled"))
    expected = PCA(64, svd_solver="full").fit_transform(maps.reshape(len(maps), -1))
    assert vectors.shape[1] == 64
    assert_equal_up_to_sign(vectors[~np.isnan(vectors[:, 0])], expected, 2e-3)


@pytest.mark.parametrize(("rows", "columns"), [(300, 20), (20, 300), (7, 7)])
def test_components_equal_scikit_learn_on_either_side(rows, columns):
    values = np.random.default_rng(0).normal(size=(rows, columns)) * np.linspace(3, 1, columns)
    space = baselines.principal(values)
    model = PCA(min(64, rows - 1, columns)).fit(values)
    assert space.axes.shape == (columns, model.n_components)
    np.testing.assert_allclose(space.mean, model.mean_, atol=1e-7)
    assert_equal_up_to_sign(space.axes, model.components_.T, 1e-6)
    np.testing.assert_allclose(space.shares, model.explained_variance_ratio_, atol=1e-12)
    assert (space.axes[np.abs(space.axes).argmax(0), np.arange(model.n_components)] > 0).all()


@pytest.mark.parametrize("rows", [40, 200])
def test_components_end_where_the_variance_does(rows):
    rng = np.random.default_rng(0)
    values = (rng.normal(size=(rows, 5)) @ rng.normal(size=(5, 90))).astype(np.float32).astype(np.float64)
    assert baselines.principal(values + 1e-9 * rng.normal(size=values.shape)).axes.shape == (90, 5)
    assert baselines.principal(10 + 1e-3 * values).axes.shape == (90, 5)
    assert baselines.principal(np.full((rows, 90), 1 / 3) + 1e-8 * values).axes.tolist() == [[0.0]] * 90


def test_maps_that_are_all_equal_are_all_zero(tmp_path):
    atlas = small(tmp_path / "a.atlas")
    for name in ("pooled", "stats"):
        equal_maps = np.broadcast_to(atlas.read(name)[:1, :1, :1], atlas.array(name).shape)
        writer(atlas, "collect", "collect").write_blocks(name, 0, np.ascontiguousarray(equal_maps))
    assert ha.features.image(atlas, "pooled").shape == (40, 2, 3, 1)
    for name in ("pooled", "stats"):
        assert np.abs(ha.features.image(atlas, name)[:]).max() < 1e-6


def test_one_map_is_enough(tmp_path):
    atlas = planted(tmp_path / "a.atlas", np.zeros((1, 1, 1), int))
    for name in ("pooled", "stats"):
        assert np.abs(ha.features.image(atlas, name)[:]).max() < 1e-6


# stats


@pytest.mark.parametrize("atlas", ["planted", "real"])
def test_stats_are_standardized_and_undefined_ones_are_zero(atlas, real, tmp_path):
    atlas = real if atlas == "real" else small(tmp_path / "a.atlas", missing=[(0, 1)])
    if atlas is not real:
        stats = atlas.read("stats")
        stats[::3, :, :, 1] = np.nan
        stats[..., 4] = 0.25
        writer(atlas, "collect", "collect").write_blocks("stats", 0, stats)
    vectors = ha.features.image(atlas, "stats", sample=10**9)[:].astype(np.float64)
    vectors = vectors.reshape(-1, vectors.shape[-1])
    vectors = vectors[~np.isnan(vectors).all(1)]
    values = flat(atlas, "stats")
    for column in range(values.shape[1]):
        defined = [float(value) for value in values[:, column] if not np.isnan(value)]
        mean = sum(defined) / len(defined) if defined else 0
        deviation = (sum((value - mean) ** 2 for value in defined) / len(defined)) ** 0.5 if defined else 0
        for value, vector in zip(values[:, column], vectors[:, column], strict=True):
            is_zero = np.isnan(value) or deviation < 1e-9
            assert vector == pytest.approx(0 if is_zero else (value - mean) / deviation, abs=1e-6, rel=1e-3)


def test_an_unusual_map_outside_the_sample_stays_within_float16():
    calm = np.full((50, 1), 0.5) + np.random.default_rng(0).normal(size=(50, 1)) * 1e-5
    encoder = baselines.StatsEncoder.fit(calm, {})
    assert encoder.encode(None, np.array([[1.0], [-9.0], [0.5]])).ravel()[:2].tolist() == [100, -100]


# the sample


def test_a_sample_takes_the_maps_it_names(tmp_path):
    atlas = small(tmp_path / "a.atlas", missing=[(0, 0)])
    index = systematic_sample(40, np.argwhere(np.ones((2, 3))), 60, seed=5)
    existing = index[(index[:, 1:] != 0).any(1)]
    assert len(index) == 60 and len(existing) == 50
    assert (sample.sample_maps(atlas, "pooled", 60, 5) == atlas.read("pooled")[tuple(existing.T)]).all()


def test_the_seed_decides_the_sample(tmp_path):
    atlas = small(tmp_path / "a.atlas")
    first = ha.features.image(atlas, "pooled", sample=60, name="x")[:]
    assert not np.array_equal(ha.features.image(atlas, "pooled", sample=60, seed=1, name="x")[:], first)
    assert np.array_equal(ha.features.image(atlas, "pooled", sample=60, name="x")[:], first)


# blocks, workers, damage


@pytest.mark.parametrize("encoder", ["pooled", "stats"])
def test_other_blocks_give_the_same_vectors(encoder):
    compare_blocks(encoder, encoder)


def compare_blocks(encoder, name):
    """Compare atlases that are split into blocks of different sizes; one head does not exist."""
    vectors = []
    for size in (4, 16, 64):
        atlas = small(f"memory://{name}{size}.atlas", block=size, missing=[(1, 0)])
        vectors.append(ha.features.image(atlas, encoder, sample=100, batch=17)[:])
        assert np.isnan(vectors[-1][:, 1, 0]).all() and np.isnan(vectors[-1]).any(-1).sum() == 40
    for other in vectors[1:]:
        np.testing.assert_allclose(other, vectors[0], rtol=1e-3, atol=1e-4)


def test_any_number_of_threads_gives_the_same_bits(tmp_path, monkeypatch):
    compare_runs("pooled", [(1, 0), (4, 0)], tmp_path, monkeypatch)


def compare_runs(encoder, setups, folder, monkeypatch):
    """Compare runs with these numbers of cores and worker processes."""
    digests = []
    for number, (cores, workers) in enumerate(setups):
        monkeypatch.setattr(ha.parallel, "cores", lambda cores=cores: cores)
        atlas = small(folder / f"{number}.atlas", block=8)
        threads = torch.get_num_threads()
        ha.features.image(atlas, encoder, sample=60, batch=13, workers=workers)
        assert torch.get_num_threads() == threads
        digests.append(bits(atlas.files.url))
    assert all(files == digests[0] for files in digests) and len(digests[0]) > 10


def test_fitted_encoders_can_be_sent_to_workers():
    maps = np.random.default_rng(0).random((30, 4, 4)).astype(np.float32)
    for encoder, inputs in [
        (baselines.PooledEncoder.fit(maps, {}), (maps, None)),
        (baselines.StatsEncoder.fit(maps[:, 0], {}), (None, maps[:, 0])),
    ]:
        assert np.array_equal(pickle.loads(pickle.dumps(encoder)).encode(*inputs), encoder.encode(*inputs))


@pytest.mark.parametrize("done", [True, False])
@pytest.mark.parametrize("lost", ["features/c/1/0/0/0", "block-000001.json"])
def test_lost_or_damaged_blocks_are_recomputed(lost, done, tmp_path):
    atlas = small(tmp_path / "a.atlas", block=8)
    ha.features.image(atlas, "pooled", sample=60)
    expected = bits(tmp_path / "a.atlas")
    manifests, arrays, _ = folders(atlas, "features", "pooled")
    file = (manifests if lost.endswith(".json") else arrays) / lost
    for content in (b"nonsense", None):
        untouched = (arrays / "features/c/2/0/0/0").stat().st_mtime_ns
        file.unlink() if content is None else file.write_bytes(content)
        atlas = ha.open(tmp_path / "a.atlas")
        if not done or (content is None and "json" in lost):
            unfinish(atlas, "features", "pooled")
        ha.features.image(atlas, "pooled", sample=60)
        assert bits(tmp_path / "a.atlas") == expected
        assert (arrays / "features/c/2/0/0/0").stat().st_mtime_ns == untouched


def test_a_run_that_stops_midway_continues(tmp_path, monkeypatch):
    atlas = small(tmp_path / "a.atlas", block=8)
    ha.features.image(atlas, "stats")
    expected = bits(tmp_path / "a.atlas")
    atlas = small(tmp_path / "b.atlas", block=8)
    with stopping(monkeypatch, KeyboardInterrupt, at=3), pytest.raises(KeyboardInterrupt):
        ha.features.image(atlas, "stats")
    assert "stats" not in ha.open(tmp_path / "b.atlas").results("features")
    ha.features.image(str(tmp_path / "b.atlas"), "stats")
    assert bits(tmp_path / "b.atlas") == expected


def test_stats_read_no_maps(tmp_path):
    atlas = small(tmp_path / "a.atlas")
    atlas.files.remove("collect.zarr/pooled")
    assert ha.features.image(atlas, "stats").shape == (40, 2, 3, len(STATS))
    atlas = ha.open(tmp_path / "a.atlas")
    with pytest.raises(StoreError, match=r"has no pooled. Run `headatlas collect"):
        ha.features.image(atlas, "pooled")


# custom encoders


@dataclass
class Corner:
    """The first weights of a map and its first statistic."""

    width: int = 3
    factor: float = 1.0
    broken: tuple[int, ...] = ()
    extra: object = None
    calls: list = field(default_factory=list)

    def recipe(self):
        return {"encoder": "corner", "factor": self.factor, "tuple": (1, 2)}

    def encode(self, pooled, stats):
        self.calls.append(len(pooled))
        vectors = np.concatenate([pooled[:, 0, :2], stats[:, :1]], 1).astype(np.float32) * self.factor
        vectors[[n for n in self.broken if n < len(vectors)]] = np.inf
        return vectors


def test_an_object_can_be_the_encoder(tmp_path):
    atlas = small(tmp_path / "a.atlas", block=16)
    corner = Corner()
    vectors = ha.features.image(atlas, corner, batch=50)
    expected = np.concatenate([atlas.read("pooled")[..., 0, :2], atlas.read("stats")[..., :1]], -1)
    assert np.array_equal(vectors[:], expected.astype(np.float16))
    assert sorted(corner.calls) == sorted([50, 46, 50, 46, 48])
    ha.features.image(atlas, corner, batch=50)  # the same recipe: nothing is done
    assert len(corner.calls) == 5 and list(atlas.results("features")) == ["planted", "corner"]


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        (Corner(broken=(7,)), r"Corner returns a vector that is NaN or infinite for example 1, L0·H1\. Inspect"),
        (Corner(factor=1e9), r"beyond the range of float16 for example 0, L0·H0"),
        (Corner(width=4), r"returns \(.*3\) for .* maps; its width is 4"),
    ],
)
def test_invalid_vectors_name_their_map(encoder, message, tmp_path):
    atlas = small(tmp_path / "a.atlas")
    with pytest.raises(ModelError, match=message):
        block.encode(encoder, atlas.read("pooled"), atlas.read("stats"), batch=10**6)


def test_the_example_in_a_message_counts_from_the_first_block(tmp_path):
    maps = np.full((2, 1, 2, 4, 4), 0.25)
    maps[1, 0, 1, 2, 3] = np.nan  # part of a map: the head exists
    encoder = baselines.PooledEncoder.fit(maps[0, 0], {})
    with pytest.raises(ModelError, match=r"example 33, L0·H1"):
        block.encode(encoder, maps, None, 8, first=32)


# trained encoders


@pytest.fixture
def trained(tmp_path):
    """An encoder file with random weights."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network.save(network.AttentionNet(hidden=16, depth=1, inner=12, width=10), tmp_path / "mine.safetensors", {})
    return tmp_path / "mine.safetensors"


def test_a_saved_network_is_an_encoder(trained, real):
    vectors = ha.features.image(real, str(trained))[:].astype(np.float64)
    net = network.load(trained)
    for place in [(0, 0, 0), (3, 1, 5), (11, 5, 11)]:
        with torch.no_grad():
            expected = net(network.images(real.read("pooled")[place][None]))[0].numpy()
        np.testing.assert_allclose(vectors[place], expected, rtol=2e-3, atol=1e-3)
    facts = real.facts("features", "mine")
    assert facts["width"] == 10 and facts["encoder"]["sha256"] == hashlib.sha256(trained.read_bytes()).hexdigest()
    assert "10 numbers per map" in str(real)


def test_the_packaged_network_has_a_name(trained, tmp_path, monkeypatch):
    monkeypatch.setattr(network, "HEADS", trained)
    atlas = small(tmp_path / "a.atlas", missing=[(0, 2)])
    vectors = ha.features.image(atlas, "heads")[:]
    assert atlas.latest("features") == "heads"
    assert np.isnan(vectors[:, 0, 2]).all() and np.isfinite(np.delete(vectors[:, 0], 2, 1)).all()


def test_a_worker_with_another_file_stops(trained):
    pickled = pickle.dumps(TrainedEncoder.open(str(trained), "mine"))
    maps = np.full((1, 8, 8), 1 / 8, np.float32)
    assert pickle.loads(pickled).encode(maps, None).shape == (1, 10)
    network.save(network.AttentionNet(hidden=16, depth=1, inner=12, width=10), trained, {"other": 1})
    sys.modules[TrainedEncoder.__module__]._open.cache_clear()  # as in a new process
    with pytest.raises(ModelError, match=r"mine\.safetensors on this worker differs from the file"):
        pickle.loads(pickled).encode(maps, None)


# mistakes


def test_mistakes_are_named(tmp_path):
    atlas = small(tmp_path / "a.atlas")
    (tmp_path / "empty").mkdir()
    (tmp_path / "torch.safetensors").write_bytes(b"PK\x03\x04 no weights")
    cases = [
        (
            "poold",
            {},
            OptionError,
            r"no encoder is named 'poold'. Choose profile, heads, maps, pooled, stats, a .safetensors",
        ),
        ("gone.safetensors", {}, OptionError, r"the file gone.safetensors is missing. Choose"),
        (str(tmp_path / "torch.safetensors"), {}, ModelError, r"torch.safetensors cannot be read as safetensors"),
        (str(tmp_path / "empty"), {}, ModelError, r"a folder without config.json"),
        (str(packaged.folder()), {}, ModelError, r"does not read images"),
        (object(), {}, OptionError, r"object is not an encoder: it needs width, recipe\(\)"),
        ("stats", {"preprocess": "capstone"}, OptionError, r"capstone is only for vision models"),
        ("stats", {"preprocess": "raw"}, OptionError, r"preprocess 'raw': choose default or capstone"),
        ("stats", {"batch": 0}, OptionError, r"at least 1"),
        ("stats", {"sample": 0}, OptionError, r"at least 1"),
        ("stats", {"name": "a/b"}, OptionError, r"use letters, digits"),
        (Corner(extra=lambda: 0), {"workers": 1}, OptionError, r"cannot be sent to workers"),
    ]
    for encoder, options, kind, message in cases:
        with pytest.raises(kind, match=message):
            ha.features.image(atlas, encoder, **options)


def test_an_unfinished_collection_is_refused(tmp_path):
    atlas = small(tmp_path / "a.atlas")
    unfinish(atlas, "collect", "collect")
    with pytest.raises(StoreError, match="is not complete"):
        ha.features.image(str(tmp_path / "a.atlas"), "stats")


def test_that_clusters_follow_heads_is_said_to_be_built_in_for_encoders_that_know_heads():
    texts = ["The cat sat.", "It slept, then it ate.", "Who rang?"]
    atlas = ha.collect.maps("packaged", texts, "memory://knows-heads.atlas", resolution=8)
    for encoder, knows in (("heads", True), ("maps", False), ("profile", False)):
        ha.features.image(atlas, encoder)
        ha.cluster.kmeans(atlas, k=3, of=encoder, name=encoder)
        ha.correlate.clusters(atlas, of=encoder, permutations=9)
        assert summaries.knows_heads(atlas, encoder) is knows
        said = " ".join(ha.correlate.summary(atlas, encoder).split())
        assert ("trained to tell heads apart" in said) is knows
