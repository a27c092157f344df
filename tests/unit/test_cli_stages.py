"""The command line from maps to figures: the whole pipeline, results side by side, and interrupted runs."""

import csv
import io
import json
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import typer
from PIL import Image

import headatlas as ha
from headatlas.cli import app
from headatlas.cli.base import ORDER
from support.children import listening
from support.commands import BAR, bits, call, done, notes
from support.planted import drawn, planted

CHAIN = ("run", "packaged", "sample", "--limit", "16")


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """An atlas made by `run`, and what was printed. It is only read: copy it to change it."""
    path = tmp_path_factory.mktemp("chain") / "x.atlas"
    return path, *call(*CHAIN, "-o", path)


@pytest.fixture
def atlas(chain, folder):
    """A copy of that atlas: x.atlas in the current folder."""
    shutil.copytree(chain[0], folder / "x.atlas")
    return Path("x.atlas")


def test_run_prints_the_summary_and_nothing_else_on_stdout(chain):
    path, code, out, err = chain
    assert code == 0
    assert re.match(r"tree: \d+ clusters of 1,152 maps, 72 heads on 16 examples\n", out)
    assert (
        "where " in out
        and "effect " in out
        and "Too few texts to test (16, 20 are needed)" in out
        and "All together" in out
    )
    assert out.rstrip().endswith(f"Next: headatlas serve {path} · headatlas table {path} clusters")
    assert not BAR.search(out)
    assert all(stage in err for stage in ("collecting", "encoding maps", "clustering samples", "labeling", "correlate"))
    assert [line.partition(":")[0] for line in notes(err)] == ["projecting 1,152 maps by t-SNE"]
    assert ha.open(path).done == ["collect", "features", "cluster", "project", "correlate"]


def test_running_again_changes_no_byte_and_prints_the_same(chain):
    path, _, out, _ = chain
    before = bits(path)
    assert done(*CHAIN, "-o", path) == out
    assert bits(path) == before


def test_several_methods_stay_side_by_side_and_the_first_is_the_latest(atlas):
    out = done(*CHAIN, "-o", atlas, "--method", "kmeans", "--method", "dbscan")
    assert re.findall(r"^(\w+): \d+ cluster", out, re.M) == ["kmeans", "dbscan"]
    opened = ha.open(atlas)
    for stage in ("cluster", "correlate"):
        assert set(opened.results(stage)) == {"tree", "kmeans", "dbscan"} and opened.latest(stage) == "kmeans"
    before = bits(atlas)
    assert done(*CHAIN, "-o", atlas, "--method", "kmeans", "--method", "dbscan") == out
    assert bits(atlas) == before
    latest, named = done("table", atlas, "clusters"), done("table", atlas, "clusters", "--of", "dbscan")
    assert latest == done("table", atlas, "clusters", "--of", "kmeans") != named


def test_tables_of_a_result_as_text_and_csv(chain):
    path = chain[0]
    clusters = ha.open(path).table("clusters").to_pylist()
    text = done("table", path, "clusters")
    assert all(row["name"][:30] in text for row in clusters)
    rows = list(csv.DictReader(io.StringIO(done("table", path, "clusters", "--csv"))))
    assert [int(row["maps"]) for row in rows] == [row["maps"] for row in clusters]
    assert [row["name"] for row in rows] == [row["name"] for row in clusters]
    tables = ("quality", "choices", "evidence", "cells", "associations", "exemplars", "profiles", "related")
    for name in (*tables, "changes", "text"):
        assert len(done("table", path, name, "--of", "tree", "--csv").splitlines()) > 1


def test_info_lists_every_stage(chain):
    path = chain[0]
    text = done("info", path)
    assert text.count("✓ complete") == 5 and "t-SNE, trustworthiness" in text
    assert re.search(r"tree +\d+ clusters, stability [\d.]+ +\(of profile\)", text)
    facts = json.loads(done("info", path, "--json"))
    assert facts["arrays"]["labels"] == {"shape": [16, 6, 12], "dtype": "int32"}
    key = facts["results"]["features"][0]["key"]
    assert facts["results"]["cluster"][0]["recipe"]["inputs"] == {"features": f"profile/{key}"}
    assert "associations" in facts["tables"]


def test_features_of_several_encoders_and_a_custom_one(atlas):
    for encoder in ("pooled", "stats"):
        assert re.search(rf"{encoder} +\d+ numbers per map", done("features", atlas, "--encoder", encoder))
    assert "Next: headatlas features x.atlas --encoder mine.safetensors" in done(
        "encoder", "train", atlas, "-o", "mine.safetensors", "--steps", 3
    )
    done("features", atlas, "--encoder", "mine.safetensors")
    opened = ha.open(atlas)
    assert list(opened.results("features")) == ["profile", "pooled", "stats", "mine"]
    vectors = {name: opened.read("features", of=name) for name in opened.results("features")}
    assert all(np.isfinite(values).all() and values.astype(np.float32).std() > 0 for values in vectors.values())
    assert opened.results("cluster")  # made from profile, which is unchanged


def test_clusterings_of_maps_and_heads_and_a_sweep(atlas):
    assert "Next: headatlas correlate x.atlas" in done("cluster", atlas, "--method", "hdbscan", "--name", "h")
    done("cluster", atlas, "--level", "heads", "--k", 6)
    opened = ha.open(atlas)
    assert list(opened.results("cluster")) == ["tree", "h", "tree-heads"]
    labels = opened.read("labels", of="tree-heads")
    assert (labels == labels[:1]).all() and len(np.unique(labels)) == 6
    assert done("correlate", atlas, "--permutations", 9).startswith("tree-heads: 6 clusters")
    assert done("correlate", atlas, "--permutations", 9, "--of", "h").startswith("h: ")
    out = done("cluster", atlas, "--sweep", "-o", "curves.png")
    assert all(method in out for method in ("kmeans", "dbscan", "hdbscan")) and "silhouette" in out
    with Image.open("curves.png") as curves:
        assert curves.width > 500
    assert "kmeans" in done("table", atlas, "sweep", "--csv")
    assert list(ha.open(atlas).results("cluster")) == ["tree", "h", "tree-heads"]


def test_a_tree_is_printed_and_its_nodes_are_a_table(atlas):
    out = done("cluster", atlas, "--method", "tree", "--k", 4)
    lines = out[out.index("all maps: 100%") :].splitlines()
    assert [sum(f"[{number}] cluster {number}: " in line for line in lines) for number in range(4)] == [1] * 4
    rows = list(csv.DictReader(io.StringIO(done("table", atlas, "nodes", "--csv"))))
    assert sum(row["cut"] == "True" for row in rows) == 4 and rows[0]["parent"] == ""
    assert "The tree, [number] marks clusters" in done("correlate", atlas, "--permutations", 9)
    assert len(done("table", atlas, "node_names", "--csv").splitlines()) == 1 + 2 * 60 - 1
    done("cluster", atlas, "--method", "kmeans", "--k", 5)
    facts = json.loads(done("info", atlas, "--json"))  # the latest clustering has no leaves
    assert facts["arrays"]["leaves"] == {"shape": [16, 6, 12], "dtype": "int32"}


def test_every_figure_in_light_and_dark(atlas):
    assert re.search(r"pca +PCA, trustworthiness [\d.]+", done("project", atlas))
    for number, kind in enumerate(("heads", "clusters", "layers", "projection", "quality")):
        endings = ("png", "svg") if number % 2 else ("svg", "png")
        for dark, ending in enumerate(endings):
            target = Path(f"out/{kind}{dark}.{ending}")
            assert done("plot", atlas, kind, "-o", target, *(["--dark"] * dark)) == f"{target}\n"
            if ending == "png":
                with Image.open(target) as picture:
                    paper = picture.convert("L").getpixel((2, 2))
                assert paper < 60 if dark else paper > 200
            else:
                assert "</svg>" in target.read_text()
    done("plot", atlas, "heads", "--by", "entropy_relative", "-o", "by.png")
    done("plot", atlas, "projection", "--by", "topic", "-o", "by.svg")
    assert Path("by.png").exists() and "topic" in Path("by.svg").read_text()


# Ctrl-C

ANNOUNCED = """
import sys
from headatlas import progress
bar = progress.bar
def announced(title, *rest):
    print(title, flush=True)
    return bar(title, *rest)
progress.bar = announced
from headatlas.cli import main
main()
"""


def interrupted(title, seconds, *arguments):
    """Exit status and stderr of a command that is sent SIGINT some seconds after this progress bar starts."""
    command = [sys.executable, "-c", ANNOUNCED, *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, preexec_fn=listening, **pipes) as process:
        for line in process.stdout:
            if line.strip() == title:
                time.sleep(seconds)
                process.send_signal(signal.SIGINT)
                break
        _, err = process.communicate(timeout=60)
    return process.returncode, err


@pytest.mark.parametrize(
    ("title", "seconds", "command"),
    [
        ("encoding maps", 0.1, ("features", "--encoder", "heads")),
        ("clustering samples", 0, ("cluster", "--of", "planted")),
    ],
    ids=["features", "cluster"],
)
def test_stopped_and_run_again_it_ends_with_the_same_bytes(title, seconds, command, folder):
    planted("x.atlas", drawn(np.random.default_rng(0).random((6, 12, 5)) ** 4, 400))
    shutil.copytree("x.atlas", "whole.atlas")
    name, *options = command
    code, err = interrupted(title, seconds, name, "x.atlas", *options)
    assert code == 130 and "Traceback" not in err
    assert notes(err) == ["headatlas: stopped. What is written is kept: run the same command again to continue"]
    assert list(ha.open("x.atlas").results(name)) == list(ha.open("whole.atlas").results(name))  # nothing finished
    done(name, "x.atlas", *options)
    done(name, "whole.atlas", *options)
    assert bits("x.atlas") == bits("whole.atlas")


# help


def commands(group, path=()):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name)


def test_help_lists_the_commands_in_the_order_of_use():
    listed = re.findall(r"^│ (\w+) {2,}", done("--help"), re.M)
    assert listed == ORDER


@pytest.mark.parametrize("names", list(commands(typer.main.get_command(app))), ids=" ".join)
def test_every_command_explains_itself_with_an_example(names):
    text = done(*names, "--help")
    assert re.search(rf"Examples?\s+headatlas {' '.join(names)}\b", text)
    assert done(*names, "-h") == text
