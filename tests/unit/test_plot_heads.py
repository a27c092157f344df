"""Figures of one head and of one full map: the right numbers and labels, and no text outside or over another."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure

import headatlas as ha
from headatlas.errors import OptionError, StoreError
from headatlas.models import Attention, Layer
from support.atlases import writer
from support.planted import STATS, planted

LAYERS, HEADS, EXAMPLES = 2, 4, 20


@pytest.fixture(scope="module")
def attention():
    return ha.models.attention("packaged", "The cat sat on the mat, and the dog lay next to it.")


@pytest.fixture(scope="module")
def atlas(tmp_path_factory):
    """Head L0·H1 shows pattern 0 on three of four texts, else pattern 1; every other head shows pattern 2."""
    patterns = np.full((EXAMPLES, LAYERS, HEADS), 2)
    patterns[:, 0, 1] = np.arange(EXAMPLES) % 4 == 0
    atlas = planted(tmp_path_factory.mktemp("heads") / "a.atlas", patterns)
    write_heads(atlas)
    ha.cluster.kmeans(atlas, k=3)
    return atlas


def write_heads(atlas):
    means = atlas.read("stats").astype(float).mean(0)
    rows = [
        {"layer": i, "head": h} | dict(zip(STATS, means[i, h].tolist(), strict=True))
        for i, h in np.ndindex(*means.shape[:2])
    ]
    writer(atlas, "collect", "collect").write_table("heads", pa.Table.from_pylist(rows))


def words(figure):
    parts = [text.get_text() for text in figure.texts]
    parts += [text.get_text() for axes in figure.axes for text in axes.texts]
    return " ".join(parts).replace("\n", " ")


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def small(queries, keys, *, kind="encoder", target=()):
    """The attention of one head to random keys."""
    maps = np.random.default_rng(0).dirichlet(np.ones(keys), (1, queries)).astype(np.float32)
    tokens = [f"token{n}" for n in range(keys)]
    return Attention(tokens, list(target), (Layer(0, kind, 1, 1, 8, False, "0"),), [maps], "small")


def test_a_map_has_a_row_per_query_and_a_column_per_key(attention):
    figure = ha.plot.map(attention, 0, 2)
    axes = figure.axes[0]
    (image,) = axes.images
    assert np.array_equal(image.get_array(), attention.map(0, 2))
    assert labels(axes.xaxis) == labels(axes.yaxis) == attention.tokens
    assert image.get_interpolation() == "none" and axes.yaxis.get_inverted()
    count = len(attention.tokens)
    assert f"L0·H2: {count - 1} of {count} queries attend most to the previous token" in words(figure)


def test_the_color_of_a_map_is_the_square_root_and_the_legend_says_so(attention):
    figure = attention.plot(2, 9, dark=True)
    norm = figure.axes[0].images[0].norm
    assert isinstance(norm, PowerNorm) and norm.gamma == 0.5
    assert (norm.vmin, norm.vmax) == (0, attention.map(2, 9).max())
    assert "square-root scale" in words(figure) and "Color is the square root of attention" in words(figure)


@pytest.mark.parametrize(("tokens", "step"), [(3, 1), (60, 1), (61, 2), (200, 4)])
@pytest.mark.parametrize("dark", [False, True])
def test_labels_of_a_map_neither_overlap_nor_leave_the_figure(tokens, step, dark):
    figure = ha.plot.map(small(tokens, tokens), 0, 0, dark=dark)
    axes = figure.axes[0]
    assert labels(axes.yaxis) == [f"token{n}" for n in range(0, tokens, step)]
    assert (f"One token in {step} is labeled" in words(figure)) == (step > 1)
    figure.draw_without_rendering()
    width, height = figure.get_size_inches() * figure.dpi
    for axis in (axes.yaxis, axes.xaxis):
        boxes = [label.get_window_extent() for label in axis.get_ticklabels()]
        assert not any(first.overlaps(second) for first, second in pairwise(boxes))
    drawn = [*figure.texts, *axes.xaxis.get_ticklabels(), *axes.yaxis.get_ticklabels()]
    for box in (text.get_window_extent() for text in drawn):
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height


def test_cross_attention_has_target_tokens_down_and_source_tokens_across():
    axes = ha.plot.map(small(2, 4, kind="cross", target=["$a$", "\n"]), 0, 0).axes[0]
    assert labels(axes.yaxis) == ["$a$", "↵"]
    assert labels(axes.xaxis) == [f"token{n}" for n in range(4)]


def test_a_head_is_compared_with_all_others(atlas):
    text = words(ha.plot.head(atlas, 0, 1))
    means = atlas.read("stats").astype(float).mean(0)[..., STATS.index("previous")]
    assert "L0·H1: 75% of its maps are “cluster" in text
    assert "is higher than in all 7 other heads" in text or "is lower than in all 7 other heads" in text
    assert f"{means[0, 1]:.2f}" in text and "1 of 8" in text and "8 of 8" in text
    assert "share of its maps in each cluster (kmeans)" in text and "25%" in text
    image = ha.plot.head(atlas, 0, 1).axes[0].images[0]
    mean = atlas.read("pooled")[:, 0, 1].astype(float).mean(0)
    assert np.asarray(image.get_array()) == pytest.approx(np.sqrt(mean / mean.max()), abs=2e-3)


def test_a_head_is_drawn_without_a_clustering(tmp_path):
    atlas = planted(tmp_path / "b.atlas", np.zeros((4, 1, 2), int) + np.arange(2))
    write_heads(atlas)
    figure = ha.plot.head(atlas.files.url, 0, 1, most=3)
    assert isinstance(figure, Figure) and "cluster" not in words(figure)
    assert f"The 3 of {len(STATS)} statistics in which it differs most" in words(figure)


def test_what_does_not_exist_is_refused(atlas, attention):
    for call, message in [
        (lambda: ha.plot.head(atlas, 2, 0), "layer 2: the layers are 0 to 1"),
        (lambda: ha.plot.head(atlas, 0, 4), "head 4: the heads of layer 0 are 0 to 3"),
        (lambda: ha.plot.head(atlas, 0, 0, most=0), "at least one statistic"),
        (lambda: ha.plot.map(attention, 9, 1), "layer 9: the layers are 0 to 5"),
    ]:
        with pytest.raises(OptionError, match=message):
            call()
    with pytest.raises(StoreError, match="no cluster result called 'x'"):
        ha.plot.head(atlas, 0, 0, of="x")
