"""The figure of queries and keys: marks, colors, titles, and what it says where something is missing."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import headatlas as ha
from headatlas import plot
from headatlas.errors import OptionError, StoreError
from headatlas.plot.style import theme
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
        assert "query key" in text
    assert "True" in words(plot.qk(atlas, "L0H2", by="punctuation"))


def colors(figure):
    """The colors of all points, each with its opacity."""
    return np.concatenate([points.get_facecolors() for points in figure.axes[0].collections])


def test_special_tokens_are_gray_where_they_have_no_value(atlas):
    gray = np.array(to_rgb(theme(False).noise))
    special = sum(atlas.table("qk_points")["special"].to_pylist())
    for by, expected in (("position", 0), ("token_length", 2 * special), ("sentence_position", 2 * special)):
        figure = plot.qk(atlas, (0, 2), by=by)
        assert np.isclose(colors(figure)[:, :3], gray).all(1).sum() == expected
        assert ("gray: special tokens" in words(figure)) == (expected > 0)


def test_scales_of_amounts_have_whole_ticks_and_frequency_is_logarithmic(atlas):
    for by, log in (("position", False), ("token_length", False), ("frequency", True)):
        figure = plot.qk(atlas, (0, 2), by=by)
        bar = figure.axes[-1]
        low, high = bar.get_xlim()
        ticks = [tick for tick in bar.get_xticks() if low <= tick <= high]
        assert ticks and all(tick == round(tick) for tick in ticks), by
        assert (bar.get_xscale() == "log") == log


def test_rare_categories_share_a_gray(tmp_path):
    kinds = ["NOUN", "VERB", "ADJ", "ADV", "PRON", "DET", "ADP", "AUX", "CCONJ", "NUM", "PUNCT"]
    lines = [f"{n}\tword\t_\t{kind}\t_\t_\t0\troot\t_\t_" for n, kind in enumerate(kinds, 1)]
    (tmp_path / "x.conllu").write_text("\n".join([*lines, "", ""]))
    made = ha.collect.maps("packaged", ha.data.load(f"conllu:{tmp_path / 'x.conllu'}"), tmp_path / "x.atlas")
    ha.qk.embed(made, "pca")
    text = words(plot.qk(made, (0, 2), by="part_of_speech"))
    assert "part of speech, share of tokens" in text and "2 others 15% none 15%" in text


def test_a_head_whose_keys_are_all_equal(tmp_path):
    model = ha.models.untrained("packaged")
    layer = model.network.encoder.layer[1].attention.self
    for weights in (layer.key.weight.data, layer.key.bias.data):
        weights[2 * 32 : 3 * 32] = 0  # of L1·H2, which is 32 wide
    made = ha.collect.maps(model, TEXTS, tmp_path / "x.atlas", resolution=8)
    ha.qk.embed(made, "pca")
    text = words(plot.qk(made, "L1·H2", by="position"))
    assert "distance need not mirror attention (all its keys are equal, so it attends evenly)" in text
    assert "need not" not in words(plot.qk(made, "L1·H3", by="position"))


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
