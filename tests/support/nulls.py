"""An atlas with null models, and a copy without, for tests."""

import json
import shutil

import pytest

import headatlas as ha
from headatlas import null

TEXTS = 12


@pytest.fixture(scope="session")
def packaged_model():
    return ha.models.load("packaged")


@pytest.fixture(scope="session")
def null_atlas(packaged_model, tmp_path_factory):
    """The packaged model on twelve texts, every stage; only read."""
    path = tmp_path_factory.mktemp("null") / "x.atlas"
    atlas = ha.collect.maps(packaged_model, ha.data.load("sample", limit=TEXTS), path, resolution=16, qk_tokens=0)
    for encoder in ("pooled", "stats"):
        ha.features.image(atlas, encoder)
        ha.cluster.kmeans(atlas, k=6, name=encoder)
        ha.correlate.clusters(atlas, permutations=9)
        null.references(atlas, examples=TEXTS, model=packaged_model)
    return atlas


@pytest.fixture
def null_copy(null_atlas, tmp_path):
    """A copy without references, to be changed."""
    path = shutil.copytree(null_atlas.files.url, tmp_path / "x.atlas")
    header = json.loads((path / "atlas.json").read_text())
    del header["results"]["null"]
    (path / "atlas.json").write_text(json.dumps(header))
    return ha.open(path)
