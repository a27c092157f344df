"""Null models: maps, assignment and tables against slow loops and separate collections."""

import numpy as np
import pytest
import torch
from transformers import AutoModel

import headatlas as ha
from headatlas import null, wording
from headatlas.atlas.schema import MISSING, NOISE
from headatlas.errors import OptionError
from headatlas.null.block import NullModels, Source, Task, cluster_labels, null_maps
from headatlas.numeric.pca import PrincipalAxes
from headatlas.stages.cluster.fit import of_centers
from headatlas.stages.cluster.membership import Clusters, read_clusters
from headatlas.stages.features.fitted import FILE, load_encoder
from headatlas.wording.nulls import NULLS
from headatlas.wording.thresholds import ONE_JOB
from support.atlases import folders
from support.nulls import TEXTS


@pytest.fixture(scope="module")
def model(packaged_model):
    return packaged_model


@pytest.fixture(scope="module")
def made(null_atlas):
    return null_atlas


@pytest.fixture
def copied(null_copy):
    return null_copy


def rows(atlas, name, of):
    return atlas.table(name, of).to_pylist()


# maps


@pytest.fixture(scope="module")
def collected(model, tmp_path_factory):
    """The same texts collected separately: with shuffled tokens, and with other weights."""
    home = tmp_path_factory.mktemp("collected")
    texts = ha.data.load("sample", limit=TEXTS)
    options = {"resolution": 16, "qk_tokens": 0}
    return {
        "shuffled": ha.collect.maps(model, texts.shuffled(0), home / "shuffled.atlas", **options),
        "untrained": ha.collect.maps(ha.models.untrained(model, 0), texts, home / "untrained.atlas", **options),
        "permuted": ha.collect.maps(ha.models.permuted(model, 0), texts, home / "permuted.atlas", **options),
    }


@pytest.mark.parametrize("kind", NULLS)
def test_maps_are_those_of_a_separate_collection(made, model, collected, kind):
    pooled, stats = null_maps(made, NullModels(model, 0), Task(kind, [1, 4, 11]))
    np.testing.assert_allclose(pooled, collected[kind].read("pooled")[[1, 4, 11]], atol=1e-3)
    np.testing.assert_allclose(stats, collected[kind].read("stats")[[1, 4, 11]], atol=2e-3, rtol=1e-3)
    assert np.abs(pooled.astype(float) - made.read("pooled")[[1, 4, 11]]).max() > 0.05


def test_statistics_are_those_of_the_shuffled_tokens(model, collected):
    atlas = collected["shuffled"]
    assert ", tokens shuffled with seed 0" in str(atlas)
    tokens = atlas.table("tokens").to_pandas()
    ids = tokens[tokens.example == 5].id.to_numpy()
    original = model.tokenizer(next(e.text for n, e in enumerate(ha.data.load("sample")) if n == 5)).input_ids
    assert sorted(ids) == sorted(original) and ids.tolist() != original and ids[0] == original[0]
    eager = AutoModel.from_pretrained(model.source, attn_implementation="eager")
    with torch.no_grad():
        maps = torch.stack(eager(torch.tensor(ids)[None], output_attentions=True).attentions)[:, 0].double().numpy()
    same = (ids[:, None] == ids[None]) & ~np.eye(len(ids), dtype=bool)
    names, stats = atlas.array("stats").attrs["stats"], atlas.read("stats")[5]
    np.testing.assert_allclose(stats[..., names.index("same_token")], (maps * same).sum(-1).mean(-1), atol=1e-4)
    previous = np.diagonal(maps, -1, 2, 3).mean(-1)
    np.testing.assert_allclose(stats[..., names.index("previous")], previous, atol=1e-4)


@pytest.mark.parametrize("of", ["pooled", "stats"])
def test_the_model_itself_gets_the_labels_it_has(made, model, of):
    source = Source(of, of, read_clusters(made, of), load_encoder(made, of), 256, NullModels(model, 0))
    numbers = list(range(TEXTS))
    real = cluster_labels(made, source, Task("real", numbers))
    stored, patterns = real.labels, real.patterns
    again = cluster_labels(made, source, Task("plain", numbers))  # collected and encoded again
    assert np.array_equal(stored, made.read("labels", of=of))
    assert (stored == again.labels).mean() > 0.998 and (patterns == again.patterns).mean() > 0.998
    assert np.array_equal(patterns[patterns >= 0], stored[patterns >= 0])  # KMeans: the nearest center
    for cluster in range(6):
        assert 0.95 <= (patterns[stored == cluster] == cluster).mean() < 0.95 + 1 / max(1, (stored == cluster).sum())


# assignment


def test_assignment_equals_a_slow_loop():
    rng = np.random.default_rng(0)
    centers, radius = rng.normal(size=(5, 3)).astype(np.float32), np.array([0.5, 1, 2, np.nan, 0], np.float32)
    space = PrincipalAxes(rng.normal(size=4).astype(np.float32), rng.normal(size=(4, 3)).astype(np.float32), np.ones(3))
    vectors = rng.normal(size=(40, 2, 3, 4)).astype(np.float16)
    vectors[:, 1, 2] = np.nan
    assigned = Clusters(space, of_centers(centers), radius).assign(vectors)
    labels, patterns = assigned.labels, assigned.patterns
    assert assigned.leaves is None
    seen = set()
    for place in np.ndindex(40, 2, 3):
        vector = vectors[place].astype(np.float64)
        if np.isnan(vector).any():
            assert labels[place] == patterns[place] == MISSING
            continue
        distances = np.linalg.norm((vector - space.mean) @ space.axes - centers, axis=1)
        nearest = int(distances.argmin())
        assert labels[place] == nearest
        assert patterns[place] == (nearest if distances[nearest] <= radius[nearest] else NOISE)
        seen.add(int(patterns[place]))
    assert seen == {NOISE, 0, 1, 2}


@pytest.mark.parametrize("of", ["pooled", "stats"])
def test_shares_equal_a_slow_loop(made, collected, of):
    space, fit = (part := read_clusters(made, of)).space, part.fit
    encoder, radius = load_encoder(made, of), []
    labels, distance = made.read("labels", of=of), made.read("distance", of=of)
    for cluster in range(6):
        radius.append(np.quantile(distance[labels == cluster], 0.95, method="inverted_cdf"))

    def shares(vectors):
        x = (vectors.reshape(-1, vectors.shape[-1]).astype(np.float64) - space.mean) @ space.axes
        counts = np.zeros(7)
        for point in x:
            distances = np.linalg.norm(point - fit.centers, axis=1)
            nearest = int(distances.argmin())
            counts[nearest if distances[nearest] <= radius[nearest] + 1e-6 else 6] += 1
        return counts / len(x)

    real = shares(made.read("features", of=of))
    for kind, atlas in collected.items():
        maps = {name: atlas.read(name).reshape(-1, *atlas.array(name).shape[3:]) for name in ("pooled", "stats")}
        expected = shares(encoder.encode(maps["pooled"], maps["stats"]))
        table = [row for row in rows(made, "null_shares", of) if row["kind"] == kind]
        assert [row["cluster"] for row in table] == [0, 1, 2, 3, 4, 5, None]
        np.testing.assert_allclose([row["share"] for row in table], expected, atol=3 / 864)
        np.testing.assert_allclose([row["share_real"] for row in table], real, atol=3 / 864)
        assert sum(row["maps"] for row in table) == 864
        for row in table:
            assert row["low"] <= row["share"] <= row["high"]
            assert row["share"] == row["maps"] / 864
            assert row["ratio"] == pytest.approx(row["share"] / row["share_real"])


@pytest.mark.parametrize("kind", NULLS)
def test_kept_compares_maps_one_by_one(made, model, kind):
    source = Source("stats", "stats", read_clusters(made, "stats"), load_encoder(made, "stats"), 256,
                    NullModels(model, 0))  # fmt: skip
    numbers = list(range(TEXTS))
    real, other = (cluster_labels(made, source, Task(name, numbers)).patterns for name in ("real", kind))
    table, both = [row for row in rows(made, "null_shares", "stats") if row["kind"] == kind], 0
    for row in table:
        cluster = NOISE if row["cluster"] is None else row["cluster"]
        places = [place for place in np.ndindex(real.shape) if real[place] == cluster]
        same = sum(other[place] == cluster for place in places)
        assert row["kept"] == pytest.approx(same / len(places), abs=2 / len(places))
        both += same if cluster >= 0 else 0
    kept = wording.percent(both / (real >= 0).sum())
    assert f" {kept} {NULLS[kind]}" in next(line for line in null.summary(made, "stats").split("\n") if "keeps" in line)


def test_intervals_are_percentiles_over_texts(made, model):
    source = Source("pooled", "pooled", read_clusters(made, "pooled"), load_encoder(made, "pooled"), 256,
                    NullModels(model, 0))  # fmt: skip
    patterns = cluster_labels(made, source, Task("shuffled", list(range(TEXTS)))).patterns
    rng = np.random.default_rng(99)
    drawn = [patterns[rng.integers(0, TEXTS, TEXTS)] for _ in range(2000)]
    for row in rows(made, "null_shares", "pooled"):
        if row["kind"] == "shuffled":
            cluster = NOISE if row["cluster"] is None else row["cluster"]
            low, high = np.percentile([(draw == cluster).mean() for draw in drawn], [2.5, 97.5])
            assert abs(row["low"] - low) < 0.012 and abs(row["high"] - high) < 0.012


# heads and locality


@pytest.mark.parametrize("of", ["pooled", "stats"])
def test_heads_of_the_model_itself_are_those_of_correlate(made, of):
    table = [row for row in rows(made, "null_heads", of) if row["kind"] == "real"]
    for row, profile in zip(table, rows(made, "profiles", of), strict=True):
        for name in ("layer", "head", "main_cluster", "one_job"):
            assert row[name] == profile[name]
        assert row["main_share"] == pytest.approx(profile["main_share"])
        assert row["entropy"] == pytest.approx(profile["entropy"])
    for row, test in zip(rows(made, "null_locality", of)[:2], rows(made, "locality", of), strict=True):
        assert row["kind"] == "real" and row["neighbors"] == test["neighbors"]
        for name in ("similarity", "all_pairs", "difference"):
            assert row[name] == pytest.approx(test[name])
        assert row["low"] < row["difference"] < row["high"] and test["low"] is None  # too few texts for correlate


def test_heads_of_null_models_equal_a_slow_loop(made, model):
    source = Source("stats", "stats", read_clusters(made, "stats"), load_encoder(made, "stats"), 256,
                    NullModels(model, 0))  # fmt: skip
    for kind in NULLS:
        parts = [cluster_labels(made, source, Task(kind, list(numbers))) for numbers in (range(8), range(8, TEXTS))]
        labels, patterns = (np.concatenate([getattr(p, name) for p in parts]) for name in ("labels", "patterns"))
        for row in rows(made, "null_heads", "stats"):
            if row["kind"] == kind:
                own, inside = labels[:, row["layer"], row["head"]], patterns[:, row["layer"], row["head"]]
                values, counts = np.unique(own, return_counts=True)
                share = counts / TEXTS
                assert row["main_share"] == share.max() and row["main_cluster"] in values[share == share.max()]
                assert row["entropy"] == pytest.approx(-(share * np.log(share)).sum(), abs=1e-12)
                assert row["one_job"] == (share.max() >= ONE_JOB)
                assert row["outside"] == (inside == NOISE).mean()
                counted = {part["cluster"]: part["share"] for part in row["shares"]}
                assert counted == {cluster: (own == cluster).mean() for cluster in (*range(6), NOISE)}
    kinds = [row["kind"] for row in rows(made, "null_locality", "stats")]
    assert kinds == [kind for kind in ("real", *NULLS) for _ in range(2)]


# encoders


@pytest.mark.parametrize("encoder", ["pooled", "stats"])
def test_a_fitted_encoder_is_stored_and_older_atlases_are_fitted_again(copied, encoder):
    maps = {name: copied.read(name).reshape(-1, *copied.array(name).shape[3:]) for name in ("pooled", "stats")}
    expected = copied.read("features", of=encoder).reshape(len(maps["stats"]), -1)
    stored = load_encoder(copied, encoder)
    np.testing.assert_allclose(stored.encode(maps["pooled"], maps["stats"]), expected, atol=2e-2, rtol=1e-3)
    file = folders(copied, "features", encoder)[2] / FILE
    file.unlink()
    again = load_encoder(copied, encoder, encoder)
    assert stored.recipe() == again.recipe()
    for name, values in stored.arrays().items():
        assert np.array_equal(values, again.arrays()[name])


class Sums:
    """An encoder that no name stands for."""

    name, width = "sums", 16

    def __init__(self, scale=1.0):
        self.scale = scale

    def recipe(self):
        return {"encoder": "sums", "scale": self.scale}

    def encode(self, pooled, stats):
        return self.scale * pooled.sum(1).astype(np.float32)


def test_an_encoder_that_is_not_stored_is_given(copied, model):
    ha.features.image(copied, Sums())
    ha.cluster.kmeans(copied, k=3, name="sums")
    with pytest.raises(
        OptionError, match=r"features sums were made by sums, which is not stored .* Give it as encoder"
    ):
        null.references(copied, model=model)
    with pytest.raises(OptionError, match="sums is not the encoder that features sums were made by"):
        null.references(copied, model=model, encoder=Sums(2.0))
    with pytest.raises(OptionError, match="pooled is not the encoder"):
        null.references(copied, model=model, encoder="pooled")
    assert null.references(copied, model=model, encoder=Sums(), examples=2).num_rows == 12
