"""The packaged vision transformer: its weights, its accuracy on pictures it was not trained on, and its names."""

import re
import shutil

import numpy as np
import pytest
import torch
from transformers import AutoImageProcessor, ViTForImageClassification

import headatlas as ha
from headatlas import model_names
from headatlas.data import drawings
from headatlas.errors import ModelError
from headatlas.models import packaged
from headatlas.web.compute.model_files import candidates

CARD = (packaged.VIT / "README.md").read_text()
UNSEEN = 2  # seed of the pictures of the test


@pytest.fixture(scope="module")
def network():
    return ViTForImageClassification.from_pretrained(packaged.folder("packaged:vit"), dtype=torch.float32).eval()


def test_it_is_as_accurate_as_its_card_says(network):
    stated = float(re.search(r"\| all \| [\d,]+ \| ([\d.]+)", CARD).group(1))
    processor = AutoImageProcessor.from_pretrained(packaged.VIT, backend="pil")
    pictures = [drawings.draw(number, UNSEEN) for number in range(300)]
    pixels = processor(images=[picture.pixels for picture in pictures], return_tensors="pt")["pixel_values"]
    with torch.no_grad():
        guesses = network(pixels).logits.argmax(1).tolist()
    right = [network.config.id2label[guess] == picture.label for guess, picture in zip(guesses, pictures, strict=True)]
    assert np.mean(right) > stated - 0.04
    assert tuple(network.config.id2label.values()) == drawings.CLASSES


def test_names_load_it(network):
    model_names.check("packaged:vit")
    model = ha.models.load("packaged:vit")
    assert str(model) == "vit-drawings (vit): 6 encoder layers × 6 heads, 16 wide" and model.notes == ()
    assert (model.grid.rows, model.grid.columns, model.grid.special) == (8, 8, ("[CLS]",))
    facts = model.facts()
    assert facts["source"] == "packaged:vit" and candidates(facts, None)[0] == "packaged:vit"
    attention = ha.models.attention(model, "sample:images/3")
    pixels = torch.from_numpy(drawings.draw(3).pixels).permute(2, 0, 1)[None] / 127.5 - 1
    network.set_attn_implementation("eager")
    with torch.no_grad():
        expected = network(pixels, output_attentions=True).attentions
    for maps, layer in zip(attention.maps, expected, strict=True):
        assert np.abs(maps - layer[0].numpy()).max() < 1e-5


def test_changed_or_missing_weights_are_refused(tmp_path, monkeypatch):
    shutil.copytree(packaged.VIT, tmp_path / "vit")
    monkeypatch.setattr(packaged, "VIT", tmp_path / "vit")
    weights = tmp_path / "vit" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\1")
    with pytest.raises(ModelError, match=r"of headatlas has sha256 .*Reinstall it: pip install --force-reinstall head"):
        ha.models.load("packaged:vit")
    weights.unlink()
    with pytest.raises(ModelError, match=r"model\.safetensors of headatlas is missing"):
        ha.models.load("packaged:vit")


def test_run_ends_with_an_atlas_of_pictures(tmp_path):
    dataset = ha.data.load("sample:images", limit=40)
    atlas = ha.pipeline.run("packaged:vit", dataset, tmp_path / "x.atlas", permutations=19)
    assert {"collect", "features", "cluster", "correlate", "project"} <= set(atlas.done)
    assert atlas.table("examples")["image"].to_pylist()[:2] == ["sample:images/0", "sample:images/1"]
    assert "kind" in atlas.table("examples").column_names


def test_queries_and_keys_of_patches_have_colors(tmp_path):
    dataset = ha.data.load("sample:images", limit=4)
    atlas = ha.collect.maps("packaged:vit", dataset, tmp_path / "x.atlas", resolution=8)
    ha.qk.embed(atlas, method="pca")
    points = atlas.table("qk_points").to_pandas()
    assert points.brightness.isna().equals(points.special) and points.hue.notna().any()
    rows = points[(points.example == 2) & (points.row == 5) & (points.column == 3)]
    expected = drawings.draw(2).pixels[40:48, 24:32].mean() / 255
    assert len(rows) == 1 and rows.brightness.item() == pytest.approx(expected, abs=1e-3)
