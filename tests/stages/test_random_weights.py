"""A vision transformer with random weights: its maps hardly differ, so nothing may be claimed about them."""

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import ViTConfig, ViTImageProcessorPil, ViTModel

from headatlas import cluster, collect, correlate, features


@pytest.fixture(scope="module")
def atlas(tmp_path_factory):
    home = tmp_path_factory.mktemp("vit")
    size = {"hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        ViTModel(ViTConfig(**size, image_size=64, patch_size=8)).save_pretrained(home / "vit")
    ViTImageProcessorPil(size={"height": 64, "width": 64}).save_pretrained(home / "vit")
    (home / "pictures").mkdir()
    for number, pixels in enumerate(np.random.default_rng(0).integers(0, 256, (24, 4, 4, 3), np.uint8)):
        Image.fromarray(pixels).resize((64, 64)).save(home / "pictures" / f"{number:02}.png")
    atlas = collect.maps(str(home / "vit"), f"images:{home / 'pictures'}", home / "vit.atlas")
    features.image(atlas, "pooled")
    return atlas


@pytest.mark.parametrize("method", [cluster.kmeans, cluster.tree])
def test_random_weights_get_no_phrase(atlas, method):
    method(atlas, k=5)
    rows = correlate.clusters(atlas, permutations=9).to_pylist()
    if method is cluster.tree:
        rows += atlas.table("node_names").to_pylist()[1:]  # without the root
    assert not any(row["phrases"] or row["named"] for row in rows)
    assert {row["name"].split(", ")[0] for row in rows} == {"mixed"}
    assert not {row["distinction"]["kind"] for row in rows if row["distinction"]} & {"statistic", "strength"}
    delta = [abs(reason["delta"]) for row in rows for reason in row["reasons"]]
    assert max(delta) > 0.33  # consistent differences are there, but none that matters
    assert "Nothing sets these maps clearly apart; most telling: " in " ".join(correlate.summary(atlas).split())
