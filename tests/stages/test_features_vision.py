"""Vision models as encoders: against Pillow, the networks themselves and slow loops."""

import dataclasses
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image
from test_features import bits, compare_blocks, compare_runs, small
from transformers import (
    CLIPConfig,
    CLIPModel,
    ResNetConfig,
    ResNetModel,
    ViTConfig,
    ViTImageProcessorPil,
    ViTMAEConfig,
    ViTMAEModel,
    ViTModel,
)

import headatlas as ha
from headatlas.errors import ModelError
from headatlas.stages.features import vision


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """A real atlas: the packaged model on twelve texts."""
    path = tmp_path_factory.mktemp("real") / "real.atlas"
    return ha.collect.maps("packaged", ha.data.load("sample", limit=12), path, resolution=16, qk_tokens=0)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Small vision models with random weights, as folders."""
    home = tmp_path_factory.mktemp("models")
    size = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    image = {"image_size": 32, "patch_size": 8}
    clip = {"text_config": size | {"vocab_size": 99}, "vision_config": size | image, "projection_dim": 8}
    with torch.random.fork_rng():
        torch.manual_seed(1)
        ViTModel(ViTConfig(**size, **image)).save_pretrained(home / "vit")
        CLIPModel(CLIPConfig(**clip)).save_pretrained(home / "clip")
        resnet = ResNetModel(ResNetConfig(embedding_size=8, hidden_sizes=[8, 12], depths=[1, 1], layer_type="basic"))
        for module in resnet.modules():
            if isinstance(module, torch.nn.BatchNorm2d):  # as after training: unlike the statistics of any batch
                module.running_mean.uniform_(-1, 1)
                module.running_var.uniform_(0.5, 2)
        resnet.save_pretrained(home / "resnet")
    for name, mean in {"vit": [0.4, 0.5, 0.6], "resnet": [0.485, 0.456, 0.406]}.items():
        processor = ViTImageProcessorPil(size={"height": 32, "width": 32}, image_mean=mean, image_std=[0.2, 0.3, 0.4])
        processor.save_pretrained(home / name)
    return home


def slow_image(values, mean, deviation, side=32):
    """One map as the image that a network sees, computed with Pillow and loops."""
    low, high = values.min(), values.max()
    gray = Image.fromarray(((values - low) / (high - low)).astype(np.float32), mode=None)
    gray = np.asarray(gray.resize((side, side), Image.Resampling.BILINEAR))
    channels = [(gray - m) / d for m, d in zip(mean, deviation, strict=True)]
    return torch.tensor(np.stack(channels)[None], dtype=torch.float32)


@pytest.mark.parametrize("name", ["vit", "resnet", "clip"])
def test_a_vision_model_sees_the_root_of_the_map(name, real, folders):
    vectors = ha.features.image(real, str(folders / name))
    mean = {"vit": [0.4, 0.5, 0.6], "resnet": [0.485, 0.456, 0.406], "clip": [0.5] * 3}[name]
    deviation = [0.5] * 3 if name == "clip" else [0.2, 0.3, 0.4]
    kind = {"vit": ViTModel, "resnet": ResNetModel, "clip": CLIPModel}[name]
    network = kind.from_pretrained(folders / name).eval()
    for place in [(0, 0, 0), (3, 1, 5), (11, 5, 11)]:
        image = slow_image(np.sqrt(real.read("pooled")[place].astype(np.float64)), mean, deviation)
        with torch.no_grad():
            if name == "vit":
                expected = network(image).last_hidden_state[0, 0]
            elif name == "resnet":
                expected = network(image).last_hidden_state[0].mean((1, 2))
            else:
                expected = network.vision_model(image).pooler_output[0]
        np.testing.assert_allclose(vectors[place], expected.numpy(), atol=4e-3, rtol=2e-3)
    assert np.abs(vectors[0, 0, 0] - vectors[3, 1, 5]).max() > 0.02  # other maps, other vectors
    assert real.facts("features", name)["encoder"]["preprocess"] == "default"


def test_capstone_scales_each_column_by_itself():
    maps = np.random.default_rng(0).random((3, 5, 5)).astype(np.float16)
    maps[1, :, 2] = 0.5
    scaled = vision.scaled_columns(maps)
    for n in range(3):
        for key in range(5):
            column = [float(maps[n, query, key]) for query in range(5)]
            low, span = min(column), max(column) - min(column)
            for query in range(5):
                assert scaled[n, query, key] == pytest.approx((column[query] - low) / span if span else 0, abs=1e-6)


def test_capstone_is_a_separate_result(tmp_path, folders):
    atlas = small(tmp_path / "a.atlas")
    plain = ha.features.image(atlas, str(folders / "vit"))[:]
    capstone = ha.features.image(atlas, str(folders / "vit"), preprocess="capstone")[:]
    assert list(atlas.results("features")) == ["planted", "vit", "vit-capstone"]
    assert np.abs(plain - capstone).max() > 0.01


def test_a_blank_map_is_a_blank_image():
    assert (vision.scaled(np.full((1, 4, 4), 0.25, np.float16)) == 0).all()


def test_a_folder_with_other_weights_replaces_the_result(tmp_path, folders):
    atlas = small(tmp_path / "a.atlas")
    before = ha.features.image(atlas, str(folders / "vit"), name="v")[:]
    network = ViTModel.from_pretrained(folders / "vit")
    with torch.no_grad():
        network.layernorm.bias += 1
    network.save_pretrained(tmp_path / "vit")
    ViTImageProcessorPil.from_pretrained(folders / "vit").save_pretrained(tmp_path / "vit")
    after = ha.features.image(atlas, str(tmp_path / "vit"), name="v")[:]
    np.testing.assert_allclose(after, before + 1, atol=4e-3)


def test_other_blocks_give_the_same_vectors(folders):
    compare_blocks(str(folders / "vit"), "vit")


def test_processes_and_threads_give_the_same_bits(folders, tmp_path, monkeypatch):
    compare_runs(str(folders / "vit"), [(1, 0), (4, 0), (1, 2)], tmp_path, monkeypatch)


def test_a_worker_with_other_weights_stops(folders):
    encoder = dataclasses.replace(vision.load(str(folders / "vit")), digest="0" * 64)
    with pytest.raises(ModelError, match="vit has other weights on this worker"):
        pickle.loads(pickle.dumps(encoder)).encode(np.full((1, 8, 8), 1 / 8), None)


def test_seed_and_sample_do_not_matter_to_a_network(folders, tmp_path):
    atlas = small(tmp_path / "a.atlas")
    ha.features.image(atlas, str(folders / "vit"))
    before = bits(tmp_path / "a.atlas")
    ha.features.image(atlas, str(folders / "vit"), seed=9, sample=7)
    assert bits(tmp_path / "a.atlas") == before


def test_a_network_with_random_output_is_refused(folders, tmp_path):
    size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    ViTMAEModel(ViTMAEConfig(**size, image_size=32, patch_size=8)).save_pretrained(tmp_path / "mae")  # hides patches
    with pytest.raises(ModelError, match="mae returns different vectors for the same image"):
        vision.load(str(tmp_path / "mae"))


def test_patches_are_averaged_when_there_is_no_other_vector():
    class Bare(torch.nn.Module):
        def forward(self, pixel_values):
            return SimpleNamespace(last_hidden_state=pixel_values, pooler_output=None)

    values = torch.arange(24.0).view(2, 3, 2, 2)
    assert vision.pooled(Bare(), values).tolist() == values.mean((2, 3)).tolist()  # (image, feature, row, column)
    assert vision.pooled(Bare(), values[..., 0]).tolist() == values[..., 0].mean(1).tolist()  # (image, patch, feature)
