"""Drawn pictures: the same from the same seed, balanced, and different in everything but what they show."""

from collections import Counter

import numpy as np
import pytest

from headatlas.data import Example, drawings, load
from headatlas.errors import DataError, OptionError

RUN = len(drawings.CLASSES)
MEANS = np.array([
    (46.4, 117.1, 42.7), (180.6, 216.8, 40.0), (173.4, 144.4, 151.5),
    (176.5, 211.6, 170.9), (54.7, 127.3, 64.8), (11.6, 48.9, 14.5),
])  # fmt: skip


@pytest.fixture(scope="module")
def pictures():
    return [drawings.draw(number) for number in range(4 * RUN)]


def test_a_picture_follows_from_seed_and_number(pictures):
    for number in (0, 7, 90):
        again = drawings.draw(number)
        assert np.array_equal(again.pixels, pictures[number].pixels) and again.columns == pictures[number].columns
        assert not np.array_equal(drawings.draw(number, seed=1).pixels, pictures[number].pixels)
    assert len({picture.pixels.tobytes() for picture in pictures}) == len(pictures)


def test_pictures_stay_the_same_between_versions(pictures):
    """If this fails, increase `drawings.VERSION` and train the packaged model again."""
    means = np.array([picture.pixels.mean((0, 1)) for picture in pictures[:6]])
    assert drawings.VERSION == 1
    assert np.abs(means - MEANS).max() < 0.5


def test_every_run_of_pictures_has_each_class_once_in_another_order(pictures):
    runs = [[picture.label for picture in pictures[start : start + RUN]] for start in range(0, len(pictures), RUN)]
    assert all(sorted(run) == sorted(drawings.CLASSES) for run in runs)
    assert len({tuple(run) for run in runs}) == len(runs)
    assert 20 <= RUN <= 40 and len(set(drawings.CLASSES)) == RUN


def test_the_subject_is_visible_and_everything_else_varies(pictures):
    for picture in pictures:
        assert picture.pixels.shape == (64, 64, 3) and picture.pixels.dtype == np.uint8
        assert picture.subject.min() >= 0 and 12 < picture.subject.sum() <= 64 * 64
        inside = picture.subject > 0.9
        if picture.columns["kind"] in ("shape", "letter"):
            colors = picture.pixels / 255
            assert np.linalg.norm(colors[inside].mean(0) - colors[picture.subject == 0].mean(0)) > 0.1
    for column, least in {"color": 10, "background": 7, "objects": 6, "size": 50, "x": 50, "y": 50}.items():
        assert len({picture.columns[column] for picture in pictures}) >= least, column


@pytest.mark.parametrize(("label", "count"), [("two dots", 2), ("four dots", 4), ("six dots", 6)])
def test_dots_can_be_counted(pictures, label, count):
    from scipy import ndimage

    for picture in (picture for picture in pictures if picture.label == label):
        assert ndimage.label(picture.subject > 0.5)[1] == count


def test_sample_images_is_a_dataset():
    dataset = load("sample:images")
    examples = list(dataset)
    assert (len(examples), dataset.modality, dataset.skipped) == (200, "image", [])
    assert max(Counter(example.columns["label"] for example in examples).values()) <= 6
    first = examples[0]
    assert (first.id, first.image) == ("letter-H-0", "sample:images/0")
    assert set(first.columns) == {"label", "kind", "color", "background", "objects", "size", "x", "y"}
    assert len({example.id for example in examples}) == 200
    assert len(list(load("sample:images", limit=230))) == 230 and list(load("sample:images", limit=3)) == examples[:3]
    assert dataset.fingerprint == load("sample:images").fingerprint != load("sample:images", limit=3).fingerprint
    with pytest.raises(OptionError, match="has fixed columns"):
        load("sample:images", text_column="label")


def test_drawings_in_memory_are_told_apart():
    first, second = (load([Example("a", image=f"sample:images/{number}")]) for number in (0, 1))
    assert first.modality == "image" and first.fingerprint != second.fingerprint
    wrong = load([Example("a", image="sample:images/x")])
    with pytest.raises(DataError, match=r"sample:images/x is not a drawing\. Use sample:images/ and a number"):
        list(wrong)
