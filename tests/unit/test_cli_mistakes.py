"""Mistakes in the stages after collect: exit 1, one line that says what to do, and no existing data is lost."""

import contextlib
import os
import re
import sys

import distributed
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

import headatlas as ha
from headatlas.atlas import schema
from headatlas.stages.features import network
from support.atlases import writer
from support.commands import bits, call, done, notes
from support.planted import drawn, planted

PREFERENCE = np.random.default_rng(0).random((3, 4, 5)) ** 6
FAST = ("--permutations", 9)


def small(path, examples=20, **options):
    return planted(path, drawn(PREFERENCE, examples), **options)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder for mistakes: atlases at several stages, and invalid files."""
    folder = tmp_path_factory.mktemp("mistakes")
    with contextlib.chdir(folder):
        bare = small("bare.atlas")
        with bare.editing() as header:
            del header["results"]["features"]
        small("plain.atlas")
        tiny = planted("tiny.atlas", drawn(PREFERENCE[:2, :2], 2))
        assert tiny.array("features").shape[0] == 2
        flat = small("flat.atlas")
        writer(flat, "features", "planted").write_blocks(
            "features", 0, np.ones(flat.array("features").shape, np.float16)
        )
        small("full.atlas", columns={"topic": ["sea", "hill"] * 10})
        done("cluster", "full.atlas", "--k", 4)
        done("cluster", "full.atlas", "--method", "dbscan")
        done("correlate", "full.atlas", *FAST)
        done("project", "full.atlas")
        with safe_open(network.HEADS, "np") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            facts = file.metadata()
        first = min(tensors)
        save_file(tensors | {first: np.zeros(7, np.float32)}, "shape.safetensors", facts)
        save_file({"weight": np.zeros(3, np.float32)}, "other.safetensors")
        (folder / "junk.safetensors").write_bytes(b"no tensors")
        (folder / "file").write_text("mine")
        (folder / "empty").mkdir()
    return folder


MISTAKES = [
    # a stage whose input is missing names the command to run
    ("cluster bare.atlas", "Run `headatlas features bare.atlas` first"),
    ("cluster bare.atlas --sweep", "Run `headatlas features bare.atlas` first"),
    ("project bare.atlas", "Run `headatlas features bare.atlas` first"),
    ("correlate plain.atlas", "Run `headatlas cluster plain.atlas` first"),
    ("plot plain.atlas clusters -o x.png", "Run `headatlas correlate plain.atlas` first"),
    ("plot plain.atlas heads -o x.png", "Run `headatlas correlate plain.atlas` first"),
    ("plot plain.atlas layers -o x.png", "Run `headatlas correlate plain.atlas` first"),
    ("plot plain.atlas projection -o x.png", "Run `headatlas project plain.atlas` first"),
    ("plot plain.atlas quality -o x.png", "Run `headatlas cluster plain.atlas` first"),
    ("table plain.atlas clusters", "Run `headatlas correlate plain.atlas` first"),
    ("table plain.atlas sweep", "Run `headatlas cluster plain.atlas --sweep` first"),
    *((f"{stage} nowhere{rest}", "there is no atlas at nowhere. Make one: headatlas collect") for stage, rest in (
        ("features", ""), ("cluster", ""), ("project", ""), ("correlate", ""), ("plot", " heads -o x.png"),
        ("table", " heads"), ("info", ""), ("encoder train", " -o x.safetensors"))),
    ("cluster empty", "empty is not an atlas"),
    # clusters
    ("cluster full.atlas --method kmeans --k 100000", "there are only 240 maps. Choose a smaller k, or auto"),
    ("cluster full.atlas --k abc", "--k abc: give a number or auto"),
    ("cluster full.atlas --k 1", "at least 2, or auto"),
    ("cluster full.atlas --method dbscan --eps abc", "--eps abc: give a number or auto"),
    ("cluster full.atlas --method dbscan --eps nan", "give a distance above 0, or auto"),
    ("cluster full.atlas --method dbscan --min-samples 999", "there are only 240 maps. Choose a smaller one"),
    ("cluster full.atlas --method hdbscan --min-cluster-size 999", "choose between 1 and the number of maps, 240"),
    ("cluster full.atlas --method hdbscan --min-cluster-size 200", "all maps are noise. Choose a smaller one"),
    ("cluster full.atlas --method ward", f"--method ward: choose {', '.join(ha.cluster.METHODS)}"),
    ("cluster full.atlas --eps 0.8", "--eps is for dbscan, not for tree"),
    ("cluster full.atlas --method hdbscan --k 4", ", not for hdbscan"),
    ("cluster full.atlas --method dbscan --min-cluster-size 4", "--min-cluster-size is for hdbscan, not for dbscan"),
    ("cluster full.atlas --method dbscan --min-samples 0", "--min-samples 0: give a whole number of at least 1"),
    ("cluster full.atlas --sweep --k 4", "--k is for a single clustering, not for --sweep"),
    ("cluster full.atlas --sweep --method ward", "--method ward: choose"),
    ("cluster full.atlas --level rows", "choose maps or heads"),
    ("cluster full.atlas --method kmeans --backend gpu", "choose sklearn or cuml"),
    ("cluster full.atlas --sample 3", "at least one map for each of 12 heads, or 0 for all"),
    ("cluster full.atlas --of nothere", "it has planted"),
    ("cluster full.atlas --name a/b", "--name 'a/b': use letters, digits, dots"),
    ("cluster full.atlas --seed -1", "--seed -1: it cannot be negative"),
    ("cluster full.atlas --workers -1", "--workers -1: it cannot be negative"),
    ("cluster full.atlas -o x.png", "-o is for --sweep"),
    ("cluster full.atlas --sweep -o x.gif", "ends in .png, .svg, .pdf"),
    ("cluster flat.atlas", "all maps have the same features: nothing to cluster. Choose other features with --of"),
    ("cluster flat.atlas --method hdbscan", "all maps have the same features"),
    ("cluster flat.atlas --level heads", "all maps have the same features"),
    ("cluster tiny.atlas --sweep", "a sweep needs at least 40 maps, there are 8: collect more examples"),
    ("run packaged sample -o new.atlas --method ward", f"--method ward: choose {', '.join(ha.cluster.METHODS)}"),
    # encoders
    ("features full.atlas --encoder nothing", "Choose profile, heads, maps, pooled, stats, a .safetensors file"),
    ("features full.atlas --encoder gone.safetensors", "the file gone.safetensors is missing. Choose"),
    ("features full.atlas --encoder junk.safetensors", "copy or train it again"),
    ("features full.atlas --encoder other.safetensors", "made by `headatlas encoder train`"),
    ("features full.atlas --encoder shape.safetensors", "Copy or train it again"),
    ("features full.atlas --encoder empty", "a folder without config.json"),
    ("features full.atlas --preprocess capstone", "is only for vision models"),
    ("features full.atlas --encoder stats --preprocess other", "choose default or capstone"),
    ("features full.atlas --encoder stats --name a/b", "use letters, digits, dots"),
    ("features full.atlas --encoder stats --seed -1", "--seed -1: it cannot be negative"),
    ("run packaged sample -o new.atlas --encoder nothing", "Choose profile, heads, maps, pooled, stats"),
    ("encoder train full.atlas -o mine.bin", "ends in .safetensors"),
    ("encoder train full.atlas -o file/mine.safetensors", "Choose another path with -o"),
    ("encoder train full.atlas -o x.safetensors --steps 0", "at least 1"),
    # the rest
    ("project flat.atlas", "all maps have the same features: nothing to lay out. Choose other features with --of"),
    ("project full.atlas --method ica", f"choose {', '.join(ha.project.METHODS)}"),
    ("project full.atlas --of nothere", "it has planted"),
    ("project full.atlas --sample 1", "--sample 1: give a whole number of at least 4"),
    ("project full.atlas --perplexity 9", "--perplexity is for tsne, not for pca"),
    ("project full.atlas --method umap --neighbors 999", "fewer than the 240 maps"),
    ("project full.atlas --method tsne --perplexity 999", "a third of the 240 maps"),
    ("correlate full.atlas --column nothere", "the columns are: topic, n_tokens, question"),
    ("correlate full.atlas --of nothere", "it has tree, dbscan"),
    ("correlate full.atlas --permutations 0", "at least 1 permutation"),
    ("correlate full.atlas --group nothere", "no column 'nothere' to group by; the columns are: example, id, text"),
    ("table full.atlas clusters --of nothere", "it has dbscan"),
    ("table full.atlas heads --of kmeans", "Omit --of"),
    ("table full.atlas nothing", "the tables are: examples"),
    ("plot full.atlas nothing -o x.png", "choose heads, head, clusters, layers, projection, quality"),
    ("plot full.atlas head --layer 2 -o x.png", "needs --layer and --head"),
    ("plot full.atlas head --layer 99 --head 0 -o x.png", "layer 99: the layers are 0 to"),
    ("plot full.atlas heads --head 3 -o x.png", "--layer and --head are for head and qk, not for heads"),
    ("plot full.atlas heads -o x.gif", "ends in .png, .svg, .pdf"),
    ("plot full.atlas heads -o x", "ends in .png, .svg, .pdf"),
    ("plot full.atlas heads -o file/x.png", "Choose another path with -o"),
    ("plot full.atlas heads --by nothing -o x.png", "choose cluster, maps, entropy"),
    ("plot full.atlas projection --by nothing -o x.png", "a column of the examples"),
    ("plot full.atlas clusters --by layer -o x.png", "--by is for heads, projection and qk"),
    ("plot full.atlas clusters --of nothere -o x.png", "it has dbscan"),
    # queries and keys
    ("qk nowhere", "there is no atlas at nowhere. Make one: headatlas collect"),
    ("qk plain.atlas", "plain.atlas has none to draw"),
    ("qk plain.atlas --method mds", "method 'mds': choose tsne, umap or pca"),
    ("qk plain.atlas --dims 4", "dims 4: choose 2 or 3"),
    ("qk plain.atlas --tokens 1", "tokens 1: give a whole number of at least 2"),
    ("table plain.atlas qk_heads", "Run `headatlas qk plain.atlas` first"),
    ("plot plain.atlas qk --layer 0 --head 0 -o x.png", "Run `headatlas qk plain.atlas` first"),
    ("plot plain.atlas qk --layer 0 -o x.png", "the figure qk needs --layer and --head"),
    # a page as a single file
    ("export full.atlas", "give a FOLDER, or --single FILE"),
    ("export full.atlas site --example 3", "give a FOLDER, or --single FILE with --example"),
    ("export full.atlas site --single x.html", "leave out FOLDER"),
    ("export full.atlas --single x.pdf", "--single x.pdf: choose a name that ends in .html, .htm"),
    ("export full.atlas --single file/x.html", "Choose another path with --single"),
    ("export full.atlas --single x.html --head 99.0", "There is no layer 99"),
    ("export full.atlas --single x.html --head first", "is not a head: give its layer and number, such as 3.10"),
    ("export full.atlas --single x.html --example 3 --cluster 0", "a single file opens on one view"),
    ("export plain.atlas --single x.html --cluster 0", "plain.atlas has no clusters yet"),
]  # fmt: skip


def refused(*arguments):
    """The line that a refused command prints to stderr."""
    code, out, err = call(*arguments)
    assert code == 1 and out == "" and "Traceback" not in err
    (line,) = notes(err)
    assert line.startswith("headatlas: ")
    return line


@pytest.fixture(scope="module")
def untouched(home):
    """Every file of the folder before any mistake: no test may change it."""
    return bits(home)


@pytest.mark.parametrize(("line", "message"), MISTAKES, ids=[line for line, _ in MISTAKES])
def test_a_mistake_gives_one_line_and_loses_nothing(line, message, home, untouched, monkeypatch):
    monkeypatch.chdir(home)
    assert message in refused(*line.split())
    assert bits(home) == untouched


def test_no_permission_for_a_figure(home, tmp_path, monkeypatch):
    monkeypatch.chdir(home)
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    assert f"no permission to write in {tmp_path}" in refused("plot", "full.atlas", "heads", "-o", tmp_path / "x.png")


def test_all_noise_is_refused_with_an_eps_that_works(folder):
    small("x.atlas")
    done("cluster", "x.atlas", "--method", "dbscan")
    done("correlate", "x.atlas", *FAST)
    before = bits("x.atlas")
    line = refused("cluster", "x.atlas", "--method", "dbscan", "--eps", "1e-9")
    assert bits("x.atlas") == before  # the existing dbscan result, and what was derived from it
    half, most = (float(number) for number in re.findall(r"with (?:eps )?([\d.]+)", line))
    for eps, noise in ((half, 0.5), (most, 0.1)):
        done("cluster", "x.atlas", "--method", "dbscan", "--eps", eps)
        assert ha.open("x.atlas").facts("cluster", "dbscan")["noise"] <= noise + 0.01


def test_a_single_cluster_is_allowed_and_reported(folder):
    small("x.atlas")
    code, out, err = call("cluster", "x.atlas", "--method", "dbscan", "--eps", "1e9")
    assert code == 0 and "1 cluster" in out
    assert notes(err) == ["dbscan found a single cluster: there is nothing to compare it with"]
    assert done("correlate", "x.atlas", *FAST).startswith("dbscan: 1 cluster of 240 maps")
    done("project", "x.atlas")
    for kind in ("heads", "clusters", "layers", "projection"):
        done("plot", "x.atlas", kind, "-o", f"{kind}.svg")
    assert "Run `headatlas cluster x.atlas` with" in refused("plot", "x.atlas", "quality", "-o", "quality.svg")


def test_missing_heads_stay_missing_in_every_stage(folder):
    small("x.atlas", missing=[(1, 3), (2, 0)])
    done("features", "x.atlas", "--encoder", "stats")
    done("cluster", "x.atlas", "--method", "dbscan", "--of", "planted")
    done("cluster", "x.atlas", "--k", 4, "--of", "stats")
    assert done("correlate", "x.atlas", *FAST).startswith("tree: 4 clusters of 200 maps, 10 heads")
    done("project", "x.atlas")
    for kind in ("heads", "clusters", "layers", "projection", "quality"):
        done("plot", "x.atlas", kind, "-o", f"{kind}.svg", *(["--of", "dbscan"] * (kind == "quality")))
    atlas = ha.open("x.atlas")
    missing = np.zeros((20, 3, 4), bool)
    missing[:, [1, 2], [3, 0]] = True
    for name in ("tree", "dbscan"):
        assert ((atlas.read("labels", of=name) == schema.MISSING) == missing).all()
    assert (np.isnan(atlas.read("features", of="stats")).all(-1) == missing).all()
    assert (np.isnan(atlas.read("position")).all(-1) == missing).all()


def test_few_maps_of_two_examples_pass_through_every_stage(folder):
    planted("x.atlas", drawn(PREFERENCE[:2, :2], 2))
    done("cluster", "x.atlas")
    done("correlate", "x.atlas", *FAST)
    done("project", "x.atlas")
    for kind in ("heads", "clusters", "layers", "projection"):
        done("plot", "x.atlas", kind, "-o", f"{kind}.svg")
    done("cluster", "x.atlas", "--method", "kmeans")  # a tree of eight maps has no other cut to compare
    done("plot", "x.atlas", "quality", "-o", "quality.svg")


@pytest.mark.parametrize("address", ["nonsense", "tcp://127.0.0.1:9"])
def test_a_scheduler_that_does_not_answer(address, folder, monkeypatch):
    small("x.atlas")
    real = distributed.Client
    monkeypatch.setattr(distributed, "Client", lambda at, timeout, **rest: real(at, timeout="0.5s", **rest))
    for command in (("cluster", "--k", 3), ("features", "--encoder", "stats"), ("project",)):
        line = refused(command[0], "x.atlas", *command[1:], "--scheduler", address)
        assert f"no Dask scheduler answers at {address}. Start one with: dask scheduler" in line
        done(command[0], "x.atlas", *command[1:])


def test_cuml_when_it_is_not_installed(home, monkeypatch):
    monkeypatch.setitem(sys.modules, "cuml", None)
    monkeypatch.chdir(home)
    before = bits("full.atlas")
    for method in ("kmeans", "dbscan", "hdbscan"):
        line = refused("cluster", "full.atlas", "--method", method, "--backend", "cuml")
        assert "pip install cuml-cu12" in line and "choose backend sklearn" in line
    assert bits("full.atlas") == before
