"""What a notebook meets: names after a dot, names and paths in place of objects, and short representations."""

import re

import numpy as np
import pytest
from matplotlib.figure import Figure

import headatlas as ha
from headatlas.data import Example
from headatlas.errors import OptionError
from headatlas.models import Attention, Layer

MODULES = [name for name in ha.__all__ if name not in ("Atlas", "__version__", "open")]


@pytest.fixture(scope="module")
def attention():
    return ha.models.attention("packaged", "The cat sat.")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """The path of an atlas with a result of every stage."""
    folder = tmp_path_factory.mktemp("public") / "small.atlas"
    ha.pipeline.run("packaged", ["The cat sat.", "It slept, then it ate."], folder, encoder="stats", permutations=9)
    return folder


def test_the_package_lists_its_public_names():
    assert dir(ha) == sorted(ha.__all__)


@pytest.mark.parametrize("name", [*MODULES, "plot.tsne"])
def test_a_public_module_lists_its_public_names(name):
    module = ha
    for part in name.split("."):
        module = getattr(module, part)
    assert [listed for listed in dir(module) if not listed.startswith("_")] == sorted(module.__all__)
    assert all(hasattr(module, listed) for listed in module.__all__)


def test_a_model_is_accepted_by_name(attention):
    assert attention.tokens == ["[CLS]", "the", "cat", "sat", ".", "[SEP]"]
    model = ha.models.load("packaged")
    assert ha.models.load(model) is model
    with pytest.raises(OptionError, match="loaded already, with modality text: give its name"):
        ha.models.load(model, modality="image")
    named = ha.models.vectors("packaged", "The cat sat.")
    assert np.array_equal(named.queries[0], ha.models.vectors(model, "The cat sat.").queries[0])


def test_an_atlas_is_accepted_by_path(path):
    atlas = ha.open(str(path))
    assert ha.open(atlas) is atlas
    for figure in (ha.plot.heads, ha.plot.clusters, ha.plot.layers, ha.plot.projection, ha.plot.quality):
        assert isinstance(figure(path), Figure)
    assert ha.correlate.summary(str(path)) == ha.correlate.summary(atlas)
    assert ha.correlate.clusters(path, permutations=9).equals(atlas.table("clusters"))
    assert np.array_equal(ha.cluster.tree(path), atlas.read("labels"))
    assert np.array_equal(ha.project.pca(str(path)), ha.open(path).read("position", of="pca"))
    ha.pipeline.analyze(path, encoder="stats", permutations=9)
    assert ha.cluster.sweep(path, methods=["kmeans"], ks=[2], sample=144).num_rows == 1


@pytest.mark.parametrize(
    ("layer", "head", "message"),
    [
        (6, 0, "^layer 6: the layers are 0 to 5$"),
        (-1, 0, "^layer -1: the layers are 0 to 5$"),
        (2, 12, "^head 12: the heads of layer 2 are 0 to 11$"),
        (2, -1, "^head -1: "),
    ],
)
def test_a_map_that_does_not_exist_is_refused(attention, layer, head, message):
    with pytest.raises(OptionError, match=message):
        attention.map(layer, head)


def test_representations_are_short(attention):
    assert repr(attention) == (
        "<Attention of all-MiniLM-L6-v2: 6 encoder layers × 12 heads, maps 6 × 6\n [CLS] the cat sat . [SEP]>"
    )
    assert repr(ha.models.load("packaged")) == ("<Model all-MiniLM-L6-v2 (bert): 6 encoder layers × 12 heads, 32 wide>")
    assert repr(ha.models.vectors("packaged", "The cat sat.")) == (
        "<Vectors of all-MiniLM-L6-v2: 6 encoder layers × 12 heads, queries and keys 32 wide\n"
        " [CLS] the cat sat . [SEP]>"
    )
    long = ha.models.attention("packaged", Example("0", text="A cat, a cat. " * 40))
    assert len(repr(long)) < 250
    assert repr(long).endswith(" …>")


def test_layouts_say_what_they_are_of():
    text = "The cat sat on the mat. " * 12
    layouts = ha.tsne.heads("packaged", text, heads="L0·H2, L1", restarts=1)
    states = ha.tsne.hidden("packaged", text, layers=[0, 5])
    active = ha.tsne.activity("packaged", text)
    for result in (layouts, states, active):
        assert re.match(
            rf"<{type(result).__name__} of all-MiniLM-L6-v2: \d+ (heads|layers) × 86 (points|keys)", repr(result)
        )
        assert len(repr(result)) < 200
    assert "1 restarts; least KL" in repr(layouts) and repr(states).startswith("<States of all-MiniLM-L6-v2: 2 layers")
    html = layouts._repr_html_()
    assert "and 1 more" in html and len(html) < 2000


def test_a_notebook_shows_every_head_of_an_attention(attention):
    html = attention._repr_html_()
    assert "<script" not in html and len(re.findall("<img", html)) == 1
    assert "6 encoder layers × 12 heads, maps 6 × 6" in html
    assert "square root of attention" in html


def test_a_notebook_shows_maps_of_different_sizes_and_escapes_tokens():
    layers = (Layer(0, "encoder", 2, 2, 8, False, "0"), Layer(1, "cross", 3, 3, 8, False, "1"))
    maps = [np.full((2, 50, 50), 0.02, np.float32), np.full((3, 4, 50), 0.02, np.float32)]
    attention = Attention(["<b>"] * 50, ["x"] * 4, layers, maps, "small")
    assert "1 encoder + 1 cross layers × 3 heads, maps 50 × 50 and 4 × 50" in repr(attention)
    html = attention._repr_html_()
    assert "<b>" not in html and "&lt;b&gt;" in html
