"""Pictures of every kind are read in the same way for a model and for the page, and patches have their colors."""

import io
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import BitImageProcessorPil, CLIPImageProcessorPil, DeiTImageProcessorPil, ViTImageProcessorPil

import headatlas as ha
from headatlas.data import pictures
from headatlas.data.pictures import Crop
from headatlas.errors import DataError
from headatlas.models.model import Grid
from headatlas.models.patches import crop_of, patch_colors, shown_pixels
from headatlas.web.views.examples import encoded_again
from support.families import FAMILIES

pytestmark = pytest.mark.usefixtures("folder")

HALF = Image.new("RGBA", (2, 1), (200, 0, 0, 255))
HALF.putpixel((1, 0), (0, 0, 200, 0))
EIGHT = {"height": 32, "width": 32}


def read(image, name="x.png", **options):
    image.save(name, **options)
    return np.asarray(pictures.read(name))


# --- kinds of files


def test_what_is_transparent_becomes_white():
    assert read(HALF).tolist() == [[[200, 0, 0], [255, 255, 255]]]
    assert read(HALF.convert("LA"))[0, 1].tolist() == [255, 255, 255]
    indexed = Image.new("P", (2, 2))
    assert read(indexed, transparency=0).min() == 255 and read(indexed).max() == 0


def test_gray_and_deep_pictures_get_three_colors():
    assert read(Image.new("L", (3, 2), 77)).tolist() == [[[77] * 3] * 3] * 2
    assert read(Image.new("1", (1, 1), 1)).tolist() == [[[255] * 3]]
    deep = Image.fromarray(np.array([[0, 256 * 130, 65535]], np.uint16))
    assert read(deep)[0, :, 0].tolist() == [0, 130, 255]
    assert read(Image.new("CMYK", (4, 4)), "x.jpg").shape == (4, 4, 3)


def test_photographs_stand_upright():
    turned = Image.new("RGB", (40, 20), "white")
    turned.paste("black", (0, 0, 20, 20))
    exif = turned.getexif()
    exif[0x0112] = 6  # a camera held sideways
    shown = read(turned, "x.jpg", exif=exif)
    assert shown.shape == (40, 20, 3) and shown[:18].max() < 40 and shown[22:].min() > 215


def test_the_page_shows_what_the_model_reads():
    HALF.save("x.png")
    sent = Image.open(io.BytesIO(encoded_again("x.png")))
    assert np.array_equal(np.asarray(sent), np.asarray(pictures.read("x.png")))


def test_broken_files_have_reasons():
    picture = Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8))
    picture.save("whole.jpg")
    Path("cut.jpg").write_bytes(Path("whole.jpg").read_bytes()[:900])
    Path("empty.png").write_bytes(b"")
    Path("letter.jpg").write_text("hello")
    Path("drawing.eps").write_text("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")  # would be run by Ghostscript
    assert pictures.fault("whole.jpg") is None and pictures.fault("sample:images/3") is None
    assert pictures.fault("empty.png") == "zero bytes" and pictures.fault("gone.png") == "missing"
    assert pictures.fault("letter.jpg") == pictures.fault("drawing.eps") == "not an image"
    assert pictures.fault("cut.jpg").startswith("cannot be read as an image: ")
    assert pictures.fault("sample:images/-1").startswith("sample:images/-1 is not a drawing")


# --- what a model sees of a picture

PROCESSORS = {
    "ViT": (ViTImageProcessorPil(size=EIGHT), None),
    "DeiT": (DeiTImageProcessorPil(size={"height": 40, "width": 40}, crop_size=EIGHT), Crop(0.8, 0.8)),
    "DINOv2": (BitImageProcessorPil(size={"shortest_edge": 40}, crop_size=EIGHT), Crop(0.8, 0.8, True)),
    "CLIP vision": (CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size=EIGHT), Crop(1.0, 1.0, True)),
}


def ramp(width, height):
    """A picture whose red grows to the right and whose green grows downward."""
    colors = np.zeros((height, width, 3), np.uint8)
    colors[..., 0] = np.linspace(0, 255, width)[None]
    colors[..., 1] = np.linspace(0, 255, height)[:, None]
    return Image.fromarray(colors)


@pytest.mark.parametrize("size", [(240, 120), (120, 240), (150, 150)])
@pytest.mark.parametrize("family", PROCESSORS)
def test_the_page_shows_the_part_that_patches_cover(family, size):
    processor, crop = PROCESSORS[family]
    assert crop_of(processor) == crop
    ramp(*size).save("ramp.png")
    seen = shown_pixels(processor, processor(images=pictures.read("ramp.png"), return_tensors="np")["pixel_values"][0])
    sent = Image.open(io.BytesIO(encoded_again("ramp.png", crop))).resize((32, 32), Image.Resampling.BOX)
    assert np.abs(seen - np.asarray(sent) / 255)[2:-2, 2:-2].max() < 0.03


def test_pictures_of_any_shape_fit_a_processor_that_keeps_shapes():
    keeps = BitImageProcessorPil(size={"shortest_edge": 32}, do_center_crop=False)
    FAMILIES["DINOv2"].network().save_pretrained("keeps")
    keeps.save_pretrained("keeps")
    model = ha.models.load("keeps")
    assert "its image processor keeps the shape of images: they are scaled to 32 × 32 instead" in model.notes
    ramp(90, 30).save("wide.png")
    assert ha.models.attention(model, "wide.png").maps[0].shape[-1] == 17


@pytest.mark.parametrize("family", PROCESSORS)
def test_a_folder_of_odd_pictures(family, tmp_path, capfd):
    folder = tmp_path / "photos"
    folder.mkdir()
    HALF.resize((60, 31)).save(folder / "alpha.png")
    ramp(50, 70).convert("L").save(folder / "gray.png")
    ramp(300, 20).save(folder / "long.jpg")
    ramp(1, 1).save(folder / "one.png")
    (folder / "broken.png").write_bytes(b"\x89PNG\r\n")
    FAMILIES[family].network().save_pretrained(tmp_path / "model")
    PROCESSORS[family][0].save_pretrained(tmp_path / "model")
    model = ha.models.load(tmp_path / "model", modality="image")
    atlas = ha.collect.maps(model, f"images:{folder}", tmp_path / "x.atlas", resolution=4)
    assert atlas.table("examples")["id"].to_pylist() == ["alpha.png", "gray.png", "long.jpg", "one.png"]
    assert "skipped: 1 example (broken.png: not an image)" in capfd.readouterr().err
    assert np.isfinite(atlas.read("pooled", slice(None))).all()
    with pytest.raises(DataError, match=r"broken\.png cannot be used: not an image"):
        ha.models.attention(model, folder / "broken.png")


# --- colors of patches


def test_patches_have_brightness_and_hue():
    pixels = np.zeros((10, 9, 3), np.float32)  # two rows of 5, two columns of 4; the ninth column belongs to no patch
    pixels[:5, :4] = (1, 0, 0)
    pixels[:5, 4:8] = (0.5, 0.5, 0.5)
    pixels[5:, :4] = (0, 0, 1)
    pixels[5:, 4:6], pixels[5:, 6:8] = (1, 1, 0), (0, 1, 1)
    brightness, hue = patch_colors(pixels, Grid(("[CLS]",), 2, 2))
    assert brightness == pytest.approx([1 / 3, 0.5, 1 / 3, 2 / 3])
    assert hue[[0, 2, 3]] == pytest.approx([0, 240, 120]) and np.isnan(hue[1])


def test_colors_are_those_of_the_picture_whatever_the_normalization():
    reddish = Image.new("RGB", (50, 50), (204, 102, 51))
    for processor, _ in PROCESSORS.values():
        pixels = processor(images=reddish, return_tensors="pt")["pixel_values"][0]
        assert isinstance(pixels, torch.Tensor)
        brightness, hue = patch_colors(shown_pixels(processor, pixels.numpy()), Grid((), 4, 4))
        assert brightness == pytest.approx(np.full(16, 119 / 255), abs=0.01)
        assert hue == pytest.approx(np.full(16, 20), abs=1)
