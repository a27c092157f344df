"""The figure of queries and keys: marks, colors, titles, and what it says where something is missing."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import headatlas as ha
from headatlas import plot
from headatlas.errors import OptionError, StoreError
from support.commands import call, done

TEXTS = ["The cat sat on the mat.", "It slept, then it ate."]


@pytest.fixture(scope="module")
def atlas(tmp_path_factory):
    made = ha.collect.maps("packaged", TEXTS, tmp_path_factory.mktemp("plot") / "x.atlas", resolution=8)
    ha.qk.embed(made, "pca", dims=3)
    ha.qk.embed(made, "pca")
    return made


def words(figure):
    texts = [*figure.texts, *(text for axes in figure.axes for text in axes.texts)]
    return " ".join(" ".join(text.get_text().split()) for text in texts)


def test_queries_and_keys_have_different_marks(atlas):
    figure = plot.qk(atlas, "L0·H2", by="position")
    position = atlas.read("qk_position", (0, 2))
    tokens = len(position) // 2
    drawn = {}
    for points in figure.axes[0].collections:
        drawn.setdefault(len(points.get_paths()[0].vertices), []).append(np.asarray(points.get_offsets()))
    circles, crosses = (np.concatenate(drawn[size]) for size in sorted(drawn, reverse=True))
    for shown, expected in ((circles, position[:tokens]), (crosses, position[tokens:])):
        assert np.sort(shown, 0) == pytest.approx(np.sort(expected, 0))


def test_the_title_states_the_correlation_and_the_trust(atlas):
    row = next(r for r in atlas.table("qk_heads").to_pylist() if (r["layer"], r["head"]) == (0, 2))
    for by in ("kind", "norm", "position", "punctuation"):
        text = words(plot.qk(atlas, (0, 2), by=by))
        assert f"correlation of −{abs(row['spearman']):.2f}" in text and "trustworthiness" in text
        assert "circles: queries, crosses: keys" in text
    assert "query" in words(plot.qk(atlas, "L0H2")) and "True" in words(plot.qk(atlas, "L0H2", by="punctuation"))


def test_dark_and_three_dimensions(atlas):
    figure = plot.qk(atlas, "L5·H11", of="pca-3d", dark=True)
    assert isinstance(figure, Figure) and "The first two of three axes are shown" in words(figure)


@pytest.mark.parametrize(
    ("head", "options", "error", "part"),
    [
        ("L9·H0", {}, OptionError, "has no L9·H0"),
        ("L0", {}, OptionError, "one head, such as L3·H10"),
        ("L0·H0", {"by": "mood"}, OptionError, "--by mood: choose kind, norm, position"),
        ("L0·H0", {"of": "nobody"}, StoreError, "no qk result called 'nobody'"),
    ],
)
def test_mistakes_are_explained_in_one_line(atlas, head, options, error, part):
    with pytest.raises(error) as caught:
        plot.qk(atlas, head, **options)
    assert part in str(caught.value) and "\n" not in str(caught.value)


def test_the_commands(atlas, folder):
    path = atlas.files.url
    assert "PCA of 72 heads" in done("qk", path, "--method", "pca")
    done("plot", path, "qk", "--layer", 0, "--head", 2, "--by", "norm", "-o", "qk.svg")
    assert "L0·H2" in (folder / "qk.svg").read_text()
    for arguments, part in (
        (("qk", path, "--dims", 5), "dims 5: choose 2 or 3"),
        (("plot", path, "qk", "-o", "x.png"), "the figure qk needs --layer and --head"),
    ):
        code, _, err = call(*arguments)
        assert code == 1 and part in err
