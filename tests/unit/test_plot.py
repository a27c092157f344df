"""Figures: the right cells, numbers, texts and colors, in light and dark, from the real stages on planted maps."""

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from headatlas import cluster, correlate, plot, project, wording
from headatlas.atlas import engine, summaries
from headatlas.atlas.store import Atlas
from headatlas.cli import plot as plot_command
from headatlas.errors import HeadatlasError, OptionError, StoreError
from headatlas.plot import style
from support.atlases import writer
from support.planted import STATS, drawn, planted

LAYERS, HEADS, EXAMPLES = 4, 5, 24
MISSING = (3, 4)


def patterns(layers=LAYERS, heads=HEADS, kinds=5, examples=EXAMPLES):
    preference = np.full((layers, heads, 5), 0.01)
    for layer, head in np.ndindex(layers, heads):
        preference[layer, head, (layer * heads + head) % kinds] = 1
    return drawn(preference, examples)


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    columns = {"topic": ["a", "b", "c", None] * (EXAMPLES // 4), "length": np.arange(EXAMPLES, dtype=float)}
    atlas = planted(tmp_path_factory.mktemp("bare") / "a.atlas", patterns(), missing=[MISSING], columns=columns)
    means = atlas.read("stats").mean(0)
    rows = [
        {"layer": i, "head": h, "kind": "encoder"} | dict(zip(STATS, means[i, h].tolist(), strict=True))
        for i, h in np.ndindex(LAYERS, HEADS)
        if (i, h) != MISSING
    ]
    writer(atlas, "collect", "collect").write_table("heads", pa.Table.from_pylist(rows))
    return atlas


@pytest.fixture(scope="module")
def atlas(bare):
    cluster.kmeans(bare, k=5)
    correlate.clusters(bare, permutations=19)
    project.pca(bare)
    return bare


@pytest.fixture(scope="module")
def figure(atlas):
    """Figures that no test changes are drawn once."""
    return cache(lambda kind, **options: plot.FIGURES[kind](atlas, **options))


def words(figure):
    """All text of a figure as one string."""
    parts = [text.get_text() for text in figure.texts]
    for axes in figure.axes:
        parts += [text.get_text() for text in axes.texts] + [axes.get_xlabel(), axes.get_ylabel()]
    return " ".join(parts).replace("\u00a0", " ").replace("\n", " ")


def cells(figure):
    """Colors of the patches in the largest axes, by (layer, head)."""
    axes = max(figure.axes, key=lambda panel: len(panel.patches))
    return {
        (int(patch.get_y()), int(patch.get_x())): to_hex(patch.get_facecolor())
        for patch in axes.patches
        if isinstance(patch, Rectangle)
    }


def images(figure):
    return [image for axes in figure.axes for image in axes.images]


def test_heads_are_colored_by_the_cluster_most_of_their_maps_are_in(atlas, figure):
    colors = cells(figure("heads"))
    labels = atlas.read("labels")
    assert len(colors) == LAYERS * HEADS - 1 and MISSING not in colors
    for (layer, head), shade in colors.items():
        main = np.bincount(labels[:, layer, head]).argmax()
        assert shade == plot.CATEGORIES[main].lower()
    shares = [np.bincount(labels[:, layer, head]).max() / EXAMPLES for layer, head in colors]
    single = sum(share >= 0.75 for share in shares)
    assert f"{single} of {len(colors)} heads have one job: at least 75% of" in words(figure("heads"))


def test_heads_are_colored_by_a_statistic(atlas):
    shown = plot.heads(atlas, by="previous")
    text = words(shown)
    mesh = next(artist for axes in shown.axes for artist in axes.collections if isinstance(artist, QuadMesh))
    means = atlas.read("stats")[..., STATS.index("previous")].astype(float).mean(0)
    shown = np.ma.filled(mesh.get_array(), np.nan).reshape(LAYERS, HEADS)
    assert shown == pytest.approx(means, abs=1e-5, nan_ok=True)
    layer, head = np.unravel_index(np.nanargmax(means), means.shape)
    assert f"Attention to the previous token is largest in L{layer}·H{head}" in text and "share of attention" in text
    assert "entropy of a head's clusters" in words(plot.heads(atlas, by="entropy"))


def test_heads_as_maps_are_crisp_and_missing_ones_left_out(atlas, figure):
    shown = images(figure("heads", by="maps"))
    assert len(shown) == LAYERS * HEADS - 1
    assert all(image.get_interpolation() == "none" for image in shown)
    mean = atlas.read("pooled")[:, 0, 0].astype(float).mean(0)
    assert np.asarray(shown[0].get_array()) == pytest.approx(np.sqrt(mean / mean.max()), abs=2e-3)
    kinds = [STATS.index(name) for name in ("previous", "self", "next", "first", "special:[SEP]")]
    most = np.nan_to_num(atlas.read("stats")[..., kinds].astype(float).mean(0)).max(-1)
    half = f"{(most >= 0.5).sum()} of {LAYERS * HEADS - 1} heads give half or more of their attention to one kind"
    assert half in words(figure("heads", by="maps"))


def test_the_gallery_shows_mean_and_exemplars_of_every_cluster(atlas):
    figure = plot.clusters(atlas, exemplars=2)
    exemplars = [row for row in atlas.table("exemplars").to_pylist() if row["rank"] < 2]
    assert len(images(figure)) == 5 + len(exemplars)
    text = words(figure)
    for row in exemplars:
        assert f"L{row['layer']}·H{row['head']}" in text and f"example {row['example']}" in text
    for row in atlas.table("clusters").to_pylist():
        assert row["name"] in text and f"{row['maps']:,} maps ({100 * row['share']:.0f}%), stable (" in text
        assert wording.head_list(row["heads"][:1]) in text and wording.layers(row["layers"]) in text
    assert "5 patterns" in text and "square root" in text
    few = plot.clusters(atlas, most=3, exemplars=0)
    left = sum(row["share"] for row in atlas.table("clusters").to_pylist()[3:])
    assert f"2 smaller clusters ({100 * left:.0f}% of all maps) are not shown" in words(few) and len(images(few)) == 3


def test_the_gallery_counts_noise_and_says_it_is_left_out(atlas, monkeypatch):
    of, entries = summaries.correlated(atlas, None)
    noise = replace(entries[-1], number=-1, name="noise")
    monkeypatch.setattr(summaries, "correlated", lambda *_: (of, [*entries[:-1], noise]))
    text, total = words(plot.clusters(atlas, exemplars=0)), sum(entry.maps for entry in entries)
    assert f"{total - noise.maps} of {total} maps fall into 4 patterns" in text
    assert f"{wording.noise_line(noise.maps, noise.share)}." in text


def test_the_title_names_the_fewest_layers_with_half_of_the_largest_cluster(atlas, figure):
    rng = np.random.default_rng(0)
    for counts in rng.integers(0, 20, (50, 12)) ** 2:
        place = summaries.place(counts)
        runs = [counts[a : a + n].sum() for n in range(1, 5) for a in range(13 - n)]
        assert place["present"] == np.count_nonzero(counts) and place["total"] == 12
        if not place["layers"]:
            assert 2 * max(runs) < counts.sum()
            continue
        inside = counts[place["layers"]].sum()
        assert 2 * inside >= counts.sum() and place["share"] == pytest.approx(inside / counts.sum())
    assert wording.place(summaries.place(np.ones(6, int))) == "spread over all 6 layers"
    largest = np.bincount(atlas.read("labels").clip(0).ravel()).argmax()
    where = summaries.place(summaries.counts(atlas, "kmeans", [int(largest)])[0][0])
    assert wording.place(where) in words(figure("clusters"))


def test_many_clusters_are_gathered_in_one_line(atlas, monkeypatch):
    for part, name in (("heat", "MOST"), ("grid", "MOST"), ("scatter", "LINES")):
        monkeypatch.setattr(f"headatlas.plot.{part}.{name}", 2)
    layers, points = plot.layers(atlas), plot.projection(atlas)
    mesh = next(artist for axes in layers.axes for artist in axes.collections if isinstance(artist, QuadMesh))
    assert np.asarray(mesh.get_array()).reshape(3, LAYERS).sum(0) == pytest.approx(100)
    assert "3 smaller clusters" in words(layers) and "3 smaller clusters" in words(points)
    assert "3 other clusters" in words(plot.heads(atlas))
    clouds = [artist for artist in points.axes[0].collections if isinstance(artist, PathCollection)]
    muted = [to_hex(shade[:3]) == style.theme(False).muted for cloud in clouds for shade in cloud.get_facecolors()]
    small = sum(row["maps"] for row in atlas.table("clusters").to_pylist()[2:])
    assert sum(muted) == small


def test_the_mean_map_of_a_cluster_is_the_mean_of_its_maps(atlas):
    labels, pooled = atlas.read("labels"), atlas.read("pooled").astype(float)
    means = summaries.cluster_maps(atlas, "kmeans", [*range(5), 99])
    for number in range(5):
        assert means[number] == pytest.approx(pooled[labels == number].mean(0), abs=1e-6)
    assert np.isnan(means[5]).all()


def test_the_mean_map_of_a_sample_is_near_that_of_all_maps(atlas, monkeypatch):
    labels, pooled = atlas.read("labels"), atlas.read("pooled").astype(float)
    monkeypatch.setattr(summaries, "MEANS", 1)  # one block
    numbers = [int(number) for number in np.unique(labels) if number >= 0]
    for number, mean in zip(numbers, summaries.cluster_maps(atlas, "kmeans", numbers), strict=True):
        assert mean == pytest.approx(pooled[labels == number].mean(0), abs=0.05)


def test_layers_match_a_slow_count(atlas, figure):
    shown = figure("layers")
    labels = atlas.read("labels")
    order = [row["cluster"] for row in atlas.table("clusters").to_pylist()]
    slow = np.zeros((5, LAYERS))
    for place, number in enumerate(order):
        for layer in range(LAYERS):
            present = [label for label in labels[:, layer].ravel() if label != -2]
            slow[place, layer] = 100 * sum(label == number for label in present) / len(present)
    mesh = next(artist for axes in shown.axes for artist in axes.collections if isinstance(artist, QuadMesh))
    assert np.asarray(mesh.get_array()).reshape(5, LAYERS) == pytest.approx(slow)
    assert slow.sum(0) == pytest.approx(100)
    axes = next(panel for panel in shown.axes if mesh in panel.collections)
    numbers = {(int(t.get_position()[1]), int(t.get_position()[0])): t.get_text() for t in axes.texts}
    assert numbers == {place: f"{value:.0f}" for place, value in np.ndenumerate(slow) if value >= 0.5}


def test_clusters_keep_their_color_in_every_figure(atlas, figure):
    shares = {row["cluster"] for row in atlas.table("clusters").to_pylist()}
    wanted = {plot.CATEGORIES[number].lower() for number in shares}
    points = [cloud for axes in figure("projection").axes for cloud in axes.collections if len(cloud.get_offsets()) > 1]
    drawn_colors = {to_hex(shade[:3]) for cloud in points for shade in cloud.get_facecolors()}
    assert drawn_colors == wanted
    for shown in (figure("clusters"), figure("layers")):
        patches = [patch for axes in shown.axes for patch in axes.patches if isinstance(patch, Rectangle)]
        assert {to_hex(patch.get_facecolor()) for patch in patches} == wanted


def test_categories_beyond_ten_carry_a_second_mark():
    look = style.theme(False)
    assert style.color(3, look) == style.color(13, look) and style.turn(3) != style.turn(13) != style.turn(23)
    assert style.color(-1, look) == look.noise and len(set(style.CATEGORIES)) == 10


COLORED = {"previous": "attention to the previous token"}


@pytest.mark.parametrize("by", ["cluster", "layer", "head", "previous", "topic", "length"])
def test_the_projection_shows_every_map_and_says_how_far_to_trust_it(atlas, figure, by):
    shown = figure("projection", by=by)
    assert shown.axes[0].get_aspect() == 1
    clouds = [cloud for cloud in shown.axes[0].collections if isinstance(cloud, PathCollection)]
    assert sum(len(cloud.get_offsets()) for cloud in clouds) == EXAMPLES * (LAYERS * HEADS - 1)
    text = words(shown)
    assert "trustworthiness" in text and "of variance" in text and f"colored by {COLORED.get(by, by)}" in text
    trust = atlas.read("trust")
    faint = sum(int((cloud.get_facecolors()[:, 3] < 0.5).sum()) for cloud in clouds)
    assert faint == (trust < 0.8).sum()


def slow_place(value, values, k):
    """Position of a value on an axis of k quantiles, step by step; equal quantiles share their mean position."""
    heights = [step / (k - 1) for step in range(k)]
    quantiles = [float(np.quantile(values, height)) for height in heights]
    knots = []
    for quantile in sorted(set(quantiles)):
        matching = [height for height, other in zip(heights, quantiles, strict=True) if other == quantile]
        knots.append((quantile, sum(matching) / len(matching)))
    knots[0], knots[-1] = (knots[0][0], 0.0), (knots[-1][0], 1.0)
    (low, below), (high, above) = next(pair for pair in pairwise(knots) if pair[0][0] <= value <= pair[1][0])
    return below + (above - below) * (value - low) / (high - low)


@pytest.mark.parametrize("k", [2, 7, 100])
def test_quantile_axes_hold_equally_many_maps_and_ticks_are_correct(atlas, figure, k):
    shown, plain = figure("projection", quantile=True, k=k), figure("projection")
    position = atlas.read("position").reshape(-1, 2)
    values = position[np.isfinite(position).all(1)].astype(float)
    axes = shown.axes[0]

    def cloud(drawing):
        parts = [part for part in drawing.axes[0].collections if isinstance(part, PathCollection)]
        return np.concatenate([np.ma.getdata(part.get_offsets()) for part in parts]), [
            to_hex(shade, keep_alpha=True) for part in parts for shade in part.get_facecolors()
        ]

    (places, colors), (linear, wanted) = cloud(shown), cloud(plain)
    assert colors == wanted and len(places) == len(values)  # the same maps in the same order, as faint as before
    for column in (0, 1):
        slow = [slow_place(value, values[:, column], k) for value in linear[:60, column]]
        np.testing.assert_allclose(places[:60, column], slow, atol=1e-9)
        counts, _ = np.histogram(places[:, column], 8, (0, 1))
        assert k < 100 or np.abs(counts - len(values) / 8).max() <= 0.03 * len(values)
    for ticks, labels, coordinates in (
        (axes.get_xticks(), axes.get_xticklabels(), values[:, 0]),
        (axes.get_yticks(), axes.get_yticklabels(), values[:, 1]),
    ):
        assert ticks.tolist() == [step / 8 for step in range(9)]
        numbers = [float(label.get_text().replace("−", "-")) for label in labels]
        heights = np.linspace(0, 1, k)
        exact = np.interp(ticks, heights, np.quantile(coordinates, heights))
        np.testing.assert_allclose(numbers, exact, rtol=0.051)  # in two digits or more
    assert "Equal steps" in words(shown) and "of variance" in words(shown) and "Equal steps" not in words(plain)
    assert not len(plain.axes[0].get_xticks())


def test_many_maps_are_sampled_and_the_figure_says_so(atlas, monkeypatch):
    monkeypatch.setattr("headatlas.plot.scatter.MOST", 100)
    assert "100 of 456 are drawn" in words(plot.projection(atlas))
    every = atlas.read("position").reshape(-1, 2)
    ticks = plot.projection(atlas, quantile=True).axes[0].get_xticklabels()  # of all maps, not of those drawn
    assert float(ticks[0].get_text().replace("−", "-")) == pytest.approx(np.nanmin(every[:, 0]), rel=0.06)


def test_quantile_axes_are_for_the_projection(atlas):
    with pytest.raises(OptionError, match="1 quantiles"):
        plot.projection(atlas, quantile=True, k=1)
    for kind in ("heads", "clusters", "layers", "quality"):
        with pytest.raises(OptionError, match=f"--quantile is for projection, not for {kind}"):
            plot_command.plot("x.atlas", kind, "x.png", quantile=True)


def test_quality_marks_the_choice(folder):
    atlas = planted(folder / "auto.atlas", patterns(2, 3, kinds=3, examples=6))
    cluster.kmeans(atlas)
    chosen = next(row for row in atlas.table("choices").to_pylist() if row["chosen"])
    best = max(atlas.table("choices").to_pylist(), key=lambda row: row["stability"])
    end = ", the highest" if best is chosen or best == chosen else f"; {best['value']:g} has the highest"
    assert f"k = {chosen['value']:g} was chosen from" in words(plot.quality(atlas)) and end in words(
        plot.quality(atlas)
    )
    ring = next(line for line in plot.quality(atlas).axes[0].lines if line.get_markersize() == 9)
    x, y = ring.get_data()
    assert [(a, b) for a, b in zip(x, y, strict=True) if np.isfinite(b)] == [(chosen["value"], chosen["stability"])]
    rows = [
        {"method": name, "parameter": "k", "value": float(value), "clusters": value, "noise": 0.1,
         "silhouette": None, "davies_bouldin": 1.0, "calinski_harabasz": 9.0, "stability": 0.2 * value}
        for name in ("kmeans", "dbscan")
        for value in (2, 3, 4)
    ]  # fmt: skip
    swept = planted(folder / "alone.atlas", patterns(2, 3, kinds=3, examples=4))
    for source, panels in ((atlas, 1 + 2 * 3), (swept, 2 * 3)):
        with engine.result(source, "sweep", "sweep", {}) as result:
            result.finish({}, [result.write_table("sweep", pa.Table.from_pylist(rows))])
        figure = plot.quality(source)
        assert len(figure.axes) == panels and "dbscan" in words(figure)
    assert "Of 6 clusterings tried, kmeans with k = 4 is the most stable (0.80)" in words(plot.quality(swept))


def test_dark_and_light_figures_match(figure):
    for kind in {*plot.FIGURES} - {"quality", "qk", "compare"}:
        options = {"layer": 1, "head": 2} if kind == "head" else {}
        light, dark = figure(kind, **options), figure(kind, **options, dark=True)
        assert isinstance(light, Figure)
        assert to_hex(light.get_facecolor()) == "#ffffff" and to_hex(dark.get_facecolor()) == "#14161b"
        assert words(light) == words(dark) and (light.get_size_inches() == dark.get_size_inches()).all()


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Thirty layers, more clusters than a legend has lines."""
    atlas = planted(tmp_path_factory.mktemp("many") / "b.atlas", patterns(30, 3, examples=4))
    cluster.kmeans(atlas, k=33)
    correlate.clusters(atlas, permutations=9)
    project.pca(atlas, sample=100)
    return atlas


@pytest.mark.parametrize("which", ["atlas", "many"])
def test_no_text_leaves_the_figure(request, which, monkeypatch):
    atlas = request.getfixturevalue(which)
    of, entries = summaries.correlated(atlas, "kmeans")
    long = [replace(entry, name=f"{entry.name} and a rather long remark on it") for entry in entries]
    monkeypatch.setattr(summaries, "correlated", lambda *_: (of, long))
    for figure in (
        plot.heads(atlas),
        plot.head(atlas, 1, 2),
        plot.clusters(atlas, most=3, exemplars=1),
        plot.layers(atlas),
        plot.projection(atlas),
    ):
        figure.draw_without_rendering()
        width, height = figure.get_size_inches() * figure.dpi
        texts = [*figure.texts, *(text for axes in figure.axes for text in axes.texts)]
        for box in (text.get_window_extent() for text in texts if text.get_text()):
            assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_figures_are_saved_identically(atlas, folder, suffix):
    for name in "ab":
        plot.save(plot.heads(atlas), folder / f"{name}.{suffix}")
    first = (folder / f"a.{suffix}").read_bytes()
    assert len(first) > 1000 and first == (folder / f"b.{suffix}").read_bytes()


def test_mistakes_are_explained_in_one_line(atlas, folder):
    calls = [
        (lambda: plot.save(Figure(), folder / "x.gif"), OptionError, "saved as .png, .svg, .pdf"),
        (lambda: plot.save(Figure(), folder / "no" / "x.png"), StoreError, "cannot be written"),
        (lambda: plot.heads(atlas, by="nothing"), OptionError, "--by nothing: choose cluster"),
        (lambda: plot.projection(atlas, by="nothing"), OptionError, "--by nothing: choose cluster"),
        (lambda: plot.projection(atlas, of="nobody"), StoreError, "no project result called 'nobody'"),
        (lambda: plot.clusters(atlas, most=0), OptionError, "at least one cluster"),
        (lambda: plot.quality(atlas), StoreError, "was not chosen"),
    ]
    for call, error, part in calls:
        with pytest.raises(error) as caught:
            call()
        assert part in str(caught.value) and "\n" not in str(caught.value)


def test_missing_results_are_named_with_their_command(folder):
    empty = planted(folder / "empty.atlas", patterns())
    wanted = {"heads": "correlate", "clusters": "correlate", "layers": "correlate", "projection": "project"}
    for kind, stage in (wanted | {"quality": "cluster"}).items():
        with pytest.raises(HeadatlasError, match=f"headatlas {stage} "):
            plot.FIGURES[kind](Atlas.open(empty.files.url))
