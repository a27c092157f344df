"""The command line, `run` and the Python functions agree: the same names, the same defaults, the same recipes."""

import inspect

import pytest
import typer

import headatlas as ha
from headatlas import compare, evaluate, null, pipeline
from headatlas.cli import app
from headatlas.stages import collect, correlate, features, tsne
from headatlas.stages.features.train import train
from support.commands import done
from support.planted import drawn, planted

STAGES = {"cluster": ha.cluster.METHODS, "project": ha.project.METHODS}
METHODS = [(stage, name) for stage, methods in STAGES.items() for name in methods]


def entries(path, stage):
    """Name, recipe and key of each result, which show that nothing was recomputed."""
    return {name: {**entry, "facts": None} for name, entry in ha.open(path).results(stage).items()}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    import numpy as np

    path = tmp_path_factory.mktemp("options") / "x.atlas"
    planted(path, drawn(np.random.default_rng(0).random((3, 4, 5)) ** 6, 40))
    return path


@pytest.mark.parametrize(("stage", "method"), METHODS)
def test_the_command_and_the_function_write_the_same_recipe(path, stage, method):
    STAGES[stage][method](ha.open(path), of="planted", name=f"python-{method}")
    done(stage, path, "--method", method, "--of", "planted", "--name", f"command-{method}")
    recipes = {name: entry["recipe"] for name, entry in ha.open(path).results(stage).items()}
    assert recipes[f"python-{method}"] == recipes[f"command-{method}"]
    before = entries(path, stage)
    done(stage, path, "--method", method, "--of", "planted", "--name", f"python-{method}")
    assert entries(path, stage) == before


def test_run_writes_the_recipe_of_the_command_and_of_the_function(tmp_path):
    path = tmp_path / "x.atlas"
    chain = ["run", "packaged", "sample", "--limit", "6", "-o", path]
    for name in ha.cluster.METHODS:
        chain += ["--method", name]
    for name in ha.project.METHODS:
        done(*chain, "--projection", name)
    for stage, methods in STAGES.items():
        before = entries(path, stage)
        assert set(before) == set(methods)
        for name, function in methods.items():
            done(stage, path, "--method", name)
            assert entries(path, stage) == before
            function(ha.open(path))
            assert entries(path, stage) == before


# --- flags of commands that are written by hand

SOURCE = {
    "model", "data", "output", "text_column", "pair_column", "limit", "path", "atlases", "source", "text", "file",
    "others", "table",
}  # fmt: skip
FIGURE = {"figure", "dark", "quantile", "layer", "by"}
OTHER_NAMES = {"column": "columns", "method": "methods", "probe": "probes", "words": "unit", "kind": "kinds"}

# a command, the function it calls, and the options that only Python has
COMMANDS = {
    "collect": (collect.maps, {"batch_tokens"}),
    "features": (features.image, {"sample", "batch"}),
    "encoder train": (train, {"batch", "width", "threads"}),
    "correlate": (correlate.clusters, {"exemplars"}),
    "evaluate": (evaluate.questions, set()),
    "null": (null.references, {"model"}),
    "compare": (compare.models, set()),
    "run": (pipeline.run, {"permutations"}),
    "tsne heads": (tsne.heads, {"iterations", "name"}),
    "tsne hidden": (tsne.hidden, {"layers", "restarts", "optimizer", "name"}),
    "tsne words": (tsne.words, {"layers", "pool", "restarts", "optimizer"}),
    "tsne activity": (tsne.activity, set()),
    "tsne compare": (tsne.compare, {"name"}),
    "tsne robustness": (tsne.robustness, {"name"}),
}
# flags whose default is set by the function, or switches that stand for a word
DEFAULT_IN_FUNCTION = {
    ("encoder train", "steps"), ("run", "methods"), ("run", "probes"), ("tsne heads", "unit"), ("null", "kinds"),
    ("compare", "noise"),
}  # fmt: skip


def command(name):
    group = typer.main.get_command(app)
    for part in name.split():
        group = group.commands[part]
    return group


@pytest.mark.parametrize("name", COMMANDS)
def test_flags_have_the_names_and_defaults_of_the_function(name):
    function, only_python = COMMANDS[name]
    options = {
        option.name: option.default
        for option in inspect.signature(function).parameters.values()
        if option.default is not option.empty
    }
    flags = {
        OTHER_NAMES.get(flag.name, flag.name): flag.default
        for flag in command(name).params
        if flag.name not in SOURCE | FIGURE
    }
    assert set(flags) == set(options) - only_python
    for option, default in flags.items():
        if (name, option) in DEFAULT_IN_FUNCTION:
            assert not default
        else:
            assert default == options[option], f"--{option} of {name}"
