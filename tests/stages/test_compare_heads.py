"""Comparisons: heads are matched by what they do, results are kept, and mistakes are explained."""

import csv
import io
import itertools
import json
import shutil

import numpy as np
import pytest

import headatlas as ha
from headatlas import compare
from headatlas.compare.divergence import shifts
from headatlas.compare.matching import by_function
from headatlas.errors import HeadatlasError, OptionError, StoreError
from support.atlases import stopping
from support.comparisons import TEXTS, collected, models_folder, network, permuted
from support.killing import bits
from support.planted import clustered, drawn, planted


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return models_folder(tmp_path_factory)


@pytest.fixture(scope="module")
def made(home):
    """The first atlas with a comparison beside two seeds."""
    seeds = [home / f"seed{seed}.atlas" for seed in (2, 3)]
    compare.models(home / "base.atlas", home / "tuned.atlas", noise=seeds, examples=5)
    return ha.open(home / "base.atlas")


def rows(atlas, table, of="tuned"):
    return atlas.table(table, of).to_pylist()


# matching


@pytest.fixture(scope="module")
def shuffled(home, tmp_path_factory):
    """The first model with its heads in another order, matched with itself by function."""
    path = tmp_path_factory.mktemp("permuted") / "permuted.atlas"
    collected(path, permuted([2, 0, 3, 1]))
    compare.models(home / "base.atlas", path, match="function")
    return ha.open(home / "base.atlas")


def test_permuted_heads_are_matched(shuffled):
    place = {2: 0, 0: 1, 3: 2, 1: 3}  # where each head went
    for row in rows(shuffled, "compare_matches", "permuted"):
        assert (row["other_layer"], row["other_head"]) == (row["layer"], place[row["head"]])
        assert row["rank"] == 1 and row["distance"] < 0.01 < row["null_distance"]
    for row in rows(shuffled, "compare_heads", "permuted"):
        assert row["other_head"] == place[row["head"]] and row["shift"] < 1e-4
        assert row["pattern_before"] == row["pattern_after"]
    assert "8 of 8, 8 of them with the nearest head of all" in compare.summary(shuffled, "permuted")


def test_matches_have_the_least_sum_of_distances():
    rng = np.random.default_rng(0)
    first, other = rng.normal(size=(4, 3)), rng.normal(size=(6, 3))
    heads = [np.array([[n // 2, n % 2] for n in range(count)]) for count in (4, 6)]
    matches = by_function(first, other, *heads)
    distances = np.linalg.norm(first[:, None] - other, axis=-1)
    best = min(itertools.permutations(range(6), 4), key=lambda chosen: distances[range(4), chosen].sum())
    assert matches.counterpart.tolist() == list(best)
    for head in range(4):
        assert matches.rank[head] == 1 + sorted(distances[head]).index(distances[head, best[head]])
        layer = round(heads[0][head, 0] * 2)  # layers 0 and 1 of two are 0 and 2 of three
        assert matches.null_distance[head] == pytest.approx(distances[head, 2 * layer : 2 * layer + 2].mean())
    fewer = by_function(other, first, *heads[::-1])
    assert sorted(fewer.counterpart.tolist()) == [-1, -1, 0, 1, 2, 3]


def test_models_of_different_shape_are_matched(home, tmp_path):
    collected(tmp_path / "deep.atlas", network(num_hidden_layers=3))
    base = home / "base.atlas"
    compare.models(base, tmp_path / "deep.atlas")
    atlas = ha.open(base)
    matches = rows(atlas, "compare_matches", "deep")
    assert len(matches) == 12 and sum(row["layer"] is None for row in matches) == 4
    heads = rows(atlas, "compare_heads", "deep")
    assert all(row["shift"] is not None for row in heads)  # the tokens are the same
    pooled = [ha.open(path).read("pooled") for path in (base, tmp_path / "deep.atlas")]
    for row in heads:
        pair = [pooled[0][:, row["layer"], row["head"]], pooled[1][:, row["other_layer"], row["other_head"]]]
        assert row["shift"] == pytest.approx(shifts(*(maps[:, None] for maps in pair)).mean(), abs=1e-6)
    mean = atlas.read("compare_mean", of="deep")
    assert mean.shape[1] == 3 and np.isnan(mean[0, 2]).all() and np.isfinite(mean[1]).all()
    collected(tmp_path / "other.atlas", network(seed=5, num_hidden_layers=3))
    table = compare.models(base, tmp_path / "deep.atlas", noise=[tmp_path / "other.atlas"], name="seeds")
    assert all(row["noise"] is not None and row["q"] is not None for row in table.to_pylist())


def test_other_tokens_leave_statistics_and_patterns(home, tmp_path):
    atlas = collected(tmp_path / "short.atlas", network(seed=1), max_tokens=20)
    base = home / "base.atlas"
    with pytest.raises(OptionError, match=r"different tokens.*--match function"):
        compare.models(base, atlas)
    table = compare.models(base, atlas, match="function").to_pylist()
    assert all(row["shift"] is None and row["statistic"] is not None for row in table)
    assert any("read different tokens" in line for line in compare.findings(base, "short"))
    with pytest.raises(OptionError, match="--noise: base and short have different tokens"):
        compare.models(base, atlas, match="function", noise=[home / "tuned.atlas"], name="x")
    with pytest.raises(OptionError, match="read different tokens"):
        ha.plot.compare(base, "short")


# the engine, the command, mistakes


def test_the_same_call_changes_nothing_and_another_name_keeps_both(made, home):
    before = bits(home / "base.atlas")
    seeds = [home / f"seed{seed}.atlas" for seed in (2, 3)]
    compare.models(home / "base.atlas", home / "tuned.atlas", noise=seeds, examples=5)
    made.refresh()
    changed = {name for name, digest in bits(home / "base.atlas").items() if before.get(name) != digest}
    assert changed <= {"atlas.json", "manifests/atlas.json"}  # it may be the latest again
    assert not any("part-" in name for name in before)


def test_a_matching_that_was_stopped_continues_with_the_same_bits(home, tmp_path, monkeypatch):
    base, other = (tmp_path / f"{name}.atlas" for name in ("base", "seed2"))
    for path in (base, other):
        shutil.copytree(home / path.name, path)
    if "compare" in ha.open(base).header["results"]:
        with ha.open(base).editing() as header:
            del header["results"]["compare"]
    folders = [tmp_path / f"copy{number}" / "base.atlas" for number in range(4)]
    for folder in folders:
        shutil.copytree(base, folder)
    compare.models(folders[0], other, match="function", examples=2)
    expected = bits(folders[0])
    for at, folder in zip((2, 5, 7), folders[1:], strict=True):  # while encoding, comparing, and at the end
        with pytest.raises(KeyboardInterrupt), stopping(monkeypatch, KeyboardInterrupt, at):
            compare.models(folder, other, match="function", examples=2)
        compare.models(folder, other, match="function", examples=2)
        assert bits(folder) == expected


def test_the_command_and_its_tables(made, home, capsys, monkeypatch):
    monkeypatch.chdir(home)

    def run(*arguments):
        with pytest.raises(SystemExit) as end:
            ha.cli.app(list(arguments))
        assert end.value.code in (0, None)
        return capsys.readouterr().out

    import headatlas.cli  # noqa: F401 - not imported by the package

    out = run("compare", "base.atlas", "tuned.atlas", "seed2.atlas", "--steps", "a,b,c", "--name", "abc")
    assert out.startswith("abc: a → b → c, on 24 examples")
    table = list(csv.DictReader(io.StringIO(run("table", "base.atlas", "compare_heads", "--of", "abc", "--csv"))))
    assert len(table) == 16 and float(table[0]["shift"]) > 0
    assert "1 of 8 heads changed more than between seeds" in run("info", "base.atlas")
    run("plot", "base.atlas", "compare", "--of", "tuned", "-o", "heads.png")
    assert (home / "heads.png").stat().st_size > 10_000
    assert json.loads(run("info", "base.atlas", "--json"))["arrays"]["compare_pooled"]["shape"][1:4] == [3, 2, 4]


def test_the_figure_names_the_head_that_moved_most(made):
    figure = ha.plot.compare(made, "tuned")
    title = figure.texts[0].get_text().replace("\n", " ")
    assert title.startswith("1 of 8 heads changed more than between seeds; most L1·H2, shift 0.")
    with pytest.raises(OptionError, match="step 2: tuned has the steps 1 to 1"):
        ha.plot.compare(made, "tuned", step=2)


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """Collections that cannot be compared with the first."""
    folder = tmp_path_factory.mktemp("others")
    collected(folder / "texts.atlas", network(seed=1), ha.data.load("sample", limit=TEXTS - 1))
    collected(folder / "fine.atlas", network(seed=1), resolution=16)
    collected(folder / "windows.atlas", network(seed=1), max_tokens=30, overlong="window")
    collected(folder / "deep.atlas", network(num_hidden_layers=3))
    collected(folder / "plain.atlas", network(seed=4))
    return folder


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (["texts"], {}, OptionError, r"different data: sample and sample, whose contents or limits differ\. Collect"),
        (["fine"], {}, OptionError, "different resolution, 8 and 16. Collect one of them again with --resolution 8"),
        (["windows"], {}, OptionError, r"have 24 and \d+ examples: long texts were cut differently"),
        ([], {}, OptionError, "needs two atlases or more"),
        (["plain"], {"steps": ["a"]}, OptionError, "--steps has 1 labels for 2 atlases"),
        (["plain"], {"noise": ["plain"]}, OptionError, "--noise plain: it has the weights of plain"),
        (["plain"], {"noise": ["deep"]}, OptionError, "--noise deep: its heads are not those of plain"),
        (["deep"], {"match": "place"}, OptionError, "--match place: base and deep do not have the same heads"),
        (["plain"], {"match": "name"}, OptionError, "--match name: choose place or function"),
        (["plain"], {"of": "gone"}, StoreError, "no cluster result called 'gone': it has kmeans"),
        (["plain"], {"examples": 0}, OptionError, "at least 1 example is needed"),
        (["plain"], {"name": "a/b"}, OptionError, "--name 'a/b'"),
        (["gone"], {}, StoreError, "there is no atlas at"),
    ],
)  # fmt: skip
def test_mistakes_are_explained_in_one_line(home, others, arguments, options, error, message):
    paths = [others / f"{name}.atlas" for name in arguments]
    options = options | {"noise": [others / f"{name}.atlas" for name in options.get("noise", ())]}
    before = set(ha.open(home / "base.atlas").results("compare"))
    with pytest.raises(error, match=message) as caught:
        compare.models(home / "base.atlas", *paths, **options)
    assert "\n" not in str(caught.value) and issubclass(error, HeadatlasError)
    assert set(ha.open(home / "base.atlas").results("compare")) == before


def test_features_are_needed_to_match_by_function(others):
    with pytest.raises(StoreError, match=r"has no features yet\. Run `headatlas features"):
        compare.models(others / "plain.atlas", others / "deep.atlas")


@pytest.mark.parametrize(
    ("level", "reason"),
    [("heads", "it is a clustering of heads"), ("maps", "the encoder of its features is not stored")],
)
def test_a_clustering_that_cannot_be_used_leaves_patterns_out(tmp_path, capsys, level, reason):
    patterns = drawn(np.ones((2, 3, 5)), 24)
    atlas = planted(tmp_path / "x.atlas", patterns)
    clustered(atlas, patterns.copy(), level=level)
    rows = compare.models(atlas, atlas).to_pylist()
    assert {row["pattern_before"] for row in rows} == {None} and {row["shift"] for row in rows} == {0.0}
    assert {row["statistic"] for row in rows} == {None}  # nothing differs
    assert f"patterns are not compared: {reason}" in capsys.readouterr().err
    assert reason in compare.summary(atlas)
    with pytest.raises(OptionError, match="clustering of heads" if level == "heads" else "Give it with --encoder"):
        compare.models(atlas, atlas, of="kmeans")
