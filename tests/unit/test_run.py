"""`run`: the options of `collect`, and the projection that it chooses."""

import numpy as np
import pytest

import headatlas as ha
from headatlas import pipeline
from support.commands import call, done
from support.planted import drawn, planted
from support.small_files import write


def test_run_passes_the_options_of_collect_on(folder):
    write("texts.txt", "The cat sat on the mat and slept.\nIt rained all day, and all night, too.\n")
    line = ["run", "packaged", "texts.txt", "-o", "x.atlas", "--encoder", "stats", "--method", "kmeans"]
    line += ["--projection", "pca", "--max-tokens", "8", "--overlong", "window", "--qk-tokens", "0"]
    done(*line)
    atlas = ha.open("x.atlas")
    assert {name: atlas.options[name] for name in ("max_tokens", "overlong", "qk_tokens")} == {
        "max_tokens": 8, "overlong": "window", "qk_tokens": 0,
    }  # fmt: skip
    assert atlas.collection["counts"]["windowed"] == 2 and not atlas.has_array("query")
    assert max(atlas.table("examples")["n_tokens"].to_pylist()) <= 8
    code, _, err = call(*line[:-6], "--overlong", "cut")
    assert code == 1 and "--overlong cut: choose truncate or window" in err


def test_run_probes_heads_and_says_what_the_data_do_not_allow(folder):
    write("texts.txt", "The cat sat on the mat and slept.\nIt rained all day, and all night, too.\n")
    line = ["run", "packaged", "texts.txt", "-o", "x.atlas", "--encoder", "stats", "--method", "kmeans"]
    code, out, err = call(*line, "--projection", "pca", "--probe", "surface", "--probe", "coref")
    assert code == 0, err
    assert list(ha.open("x.atlas").results("probe")) == ["surface"]
    assert "surface (2 examples): Where does a head look" in out and "coref: not run: " in out
    assert "probe coref is left out: " in err
    code, _, err = call(*line, "--probe", "surfaces")
    assert code == 1 and "--probe surfaces: choose surface, " in err


@pytest.mark.parametrize(("examples", "method", "name"), [(10, "pca", "PCA"), (20, "tsne", "t-SNE")])
def test_the_projection_is_chosen_by_the_number_of_maps_and_said(examples, method, name, tmp_path, capfd):
    atlas = planted(tmp_path / "x.atlas", drawn(np.ones((2, 3, 5)), examples))
    pipeline.analyze(atlas, encoder="stats", methods=["kmeans"], permutations=9)
    assert list(ha.open(tmp_path / "x.atlas").results("project")) == [method]
    told = f"projecting {6 * examples} maps by {name}: t-SNE is the default for 100 to 200,000, else PCA; --projection"
    assert told in capfd.readouterr().err


def test_the_choice_of_a_projection_overrides_the_default(tmp_path, capfd):
    atlas = planted(tmp_path / "x.atlas", drawn(np.ones((2, 3, 5)), 20))
    pipeline.analyze(atlas, encoder="stats", methods=["kmeans"], projection="pca", permutations=9)
    assert list(ha.open(tmp_path / "x.atlas").results("project")) == ["pca"]
    assert "projecting" not in capfd.readouterr().err
