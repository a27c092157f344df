"""An atlas with null models, and a copy without, for tests."""

import shutil

import pytest

import headatlas as ha
from headatlas import null
from headatlas.atlas import header
from support.shared import shared_atlas

TEXTS = 12


@pytest.fixture(scope="session")
def packaged_model():
    return ha.models.load("packaged")


@pytest.fixture(scope="session")
def null_atlas(packaged_model, tmp_path_factory):
    """The packaged model on twelve texts, every stage; only read."""
    return shared_atlas(tmp_path_factory, "null", lambda home: _make(packaged_model, home / "null.atlas"))


def _make(packaged_model, path):
    atlas = ha.collect.maps(packaged_model, ha.data.load("sample", limit=TEXTS), path, resolution=16, qk_tokens=0)
    for encoder in ("pooled", "stats"):
        ha.features.image(atlas, encoder)
        ha.cluster.kmeans(atlas, k=6, name=encoder)
        ha.correlate.clusters(atlas, permutations=9)
        null.references(atlas, examples=TEXTS, model=packaged_model)


def without_nulls(atlas, folder):
    """A copy of an atlas in a folder, without null models."""
    copied = ha.open(shutil.copytree(atlas.files.url, folder / "x.atlas"))
    del copied.header["results"]["null"]
    header.write(copied.files, copied.header)
    return copied


@pytest.fixture
def null_copy(null_atlas, tmp_path):
    """A copy without references, to be changed."""
    return without_nulls(null_atlas, tmp_path)


@pytest.fixture(scope="session")
def null_images(images, tmp_path_factory):
    """A small vision transformer on pictures, with null models: random and shuffled weights."""

    def make(home):
        null.references(ha.open(shutil.copytree(images.files.url, home / "null-images.atlas")), of="kmeans")

    return shared_atlas(tmp_path_factory, "null-images", make)
