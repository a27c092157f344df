"""Queries and keys of small networks of every kind: transformed vectors give the maps of the model; notes where not."""

import numpy as np
import pytest
from scipy.special import softmax

import headatlas as ha
from conftest import TEXTS
from headatlas.data import Example
from headatlas.errors import DataError, StoreError
from headatlas.stages.qk import notes
from headatlas.stages.qk.points import choose_points
from headatlas.stages.qk.transform import scaled, translated
from headatlas.stages.qk.vectors import read_layer


def examples_of(loaded):
    """Texts, or pictures."""
    if loaded.family.reads == "images":
        return [Example(str(number), image=path) for number, path in enumerate(loaded.pictures)]
    return TEXTS


def embedded(loaded, path, examples=None):
    """An atlas with queries and keys drawn by PCA."""
    atlas = ha.collect.maps(loaded.model, examples or examples_of(loaded), path, resolution=8)
    ha.qk.embed(atlas, "pca")
    return atlas


def attention(query, key, layer):
    """The maps of one example, from vectors."""
    scores = query.astype(np.float64) @ key.T.astype(np.float64) * (layer["scaling"] or layer["width"] ** -0.5)
    if layer["causal"]:
        scores[np.triu_indices(len(scores), 1)] = -np.inf
    return softmax(scores, axis=1)


@pytest.mark.parametrize("name", ["BERT", "Llama", "GPT-2", "ViT"])
def test_transformed_vectors_give_the_maps_of_the_model(name, small, tmp_path):
    loaded = small(name)
    atlas = embedded(loaded, tmp_path / "x.atlas")
    examples = np.array(atlas.table("qk_points")["example"].to_pylist())
    maps = [ha.models.attention(loaded.model, example) for example in examples_of(loaded)]
    scales = {(row["layer"], row["head"]): row["scale"] for row in atlas.table("qk_heads").to_pylist()}
    rows = choose_points(atlas, 5000, 0).row
    for layer in atlas.header["model"]["layers"]:
        query, key = read_layer(atlas, rows, layer)
        for head in range(layer["heads"]):
            moved, _ = translated(query[:, head], key[:, head])
            near, near_keys = scaled(query[:, head], moved, scales[layer["index"], head])
            for number in np.unique(examples):
                of = examples == number
                before = attention(query[of, head], key[of, head], layer)
                for precision in (np.float64, np.float32):  # the points that are drawn are float32
                    after = attention(near[of].astype(precision), near_keys[of].astype(precision), layer)
                    assert np.abs(after - before).max() < 1e-5
                exact = maps[number].map(layer["index"], head)
                assert np.abs(before - exact).max() < 0.02  # vectors are stored as float16
    assert set(atlas.table("qk_heads")["note"].to_pylist()) == {""}


@pytest.mark.parametrize(
    ("name", "note"),
    [("BLOOM", notes.EXTRA), ("DeBERTa-v2", notes.EXTRA), ("Gemma 2", notes.EXTRA), ("GPT-OSS", notes.SINK)],
)
def test_heads_whose_scores_are_not_products_have_a_note(name, note, small, tmp_path):
    atlas = embedded(small(name), tmp_path / "x.atlas")
    assert set(atlas.table("qk_heads")["note"].to_pylist()) == {note}


def test_tokens_of_a_source_and_a_target(small, tmp_path):
    pairs = [Example(str(i), a.text, b.text) for i, (a, b) in enumerate(zip(TEXTS, TEXTS[::-1], strict=True))]
    atlas = embedded(small("BART"), tmp_path / "x.atlas", pairs)
    target = np.array(atlas.table("tokens")["target"].to_pylist())[atlas.table("qk_points")["token"].to_pylist()]
    nothing, everything = np.zeros_like(target), np.ones_like(target)
    drawn = {"encoder": (~target, ~target), "decoder": (target, target), "cross": (target, ~target)}
    position = atlas.read("qk_position")
    for layer in atlas.header["model"]["layers"]:
        expected = np.concatenate(drawn[layer["kind"]])
        for head in range(atlas.header["model"]["heads"]):
            shown = expected if head < layer["heads"] else np.concatenate([nothing, nothing])
            assert (np.isfinite(position[layer["index"], head]).all(1) == shown).all()
    assert target.any() and not (target == everything).all()
    assert atlas.table("qk_heads").num_rows == sum(layer["heads"] for layer in atlas.header["model"]["layers"])
    sentence = np.array(atlas.table("qk_points")["sentence_position"].to_pylist())
    assert sentence[target].max() > 0


def test_vectors_that_cannot_be_read(small, tmp_path):
    atlas = ha.collect.maps(small("XLNet").model, TEXTS, tmp_path / "x.atlas", resolution=8)
    with pytest.raises(StoreError, match="the queries and keys of xlnet cannot be read") as caught:
        ha.qk.embed(atlas)
    assert "\n" not in str(caught.value)


def test_one_token(small, tmp_path):
    atlas = ha.collect.maps(small("GPT-2").model, [Example("0", text="a")], tmp_path / "x.atlas", resolution=8)
    with pytest.raises(DataError, match=r"at least 2 tokens, and there is 1.*--qk-tokens 20000") as caught:
        ha.qk.embed(atlas)
    assert "\n" not in str(caught.value)


def test_patches_have_places_but_no_colors_without_their_model(small, tmp_path, capfd):
    atlas = embedded(small("ViT"), tmp_path / "x.atlas")
    assert "without the colors of patches" in capfd.readouterr().err
    points, tokens = atlas.table("qk_points"), atlas.table("tokens")
    for name in ("row", "column", "special", "position"):
        assert points[name].to_pylist() == tokens[name].to_pylist()
    assert points["hue"].null_count == points["brightness"].null_count == points.num_rows
