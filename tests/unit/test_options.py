"""Options are declared once: signatures, docstrings and the tables in the docs agree; importing them is light."""

import inspect
import re
import subprocess
import sys
from typing import Literal, get_args, get_type_hints

import pytest

from conftest import ROOT
from headatlas.cli.flags import flags_of
from headatlas.data.readers import READERS
from headatlas.errors import OptionError
from headatlas.options import Auto, Option
from headatlas.stages.cluster import methods as clustering
from headatlas.stages.features import encoders
from headatlas.stages.project import methods as projecting
from support.docs import assert_table

STAGES = {"cluster": clustering, "project": projecting}
METHODS = [(stage, name) for stage, methods in STAGES.items() for name in methods.CLASSES]
every_method = pytest.mark.parametrize(("stage", "name"), METHODS)


# --- one option

K = Option("k", int | Auto, "auto", "", least=2)
EPS = Option("eps", float | Auto, "auto", "", above=0, noun="distance")
SEED = Option("seed", int, 0, "", least=0)
NEAR = Option("near", int | None, None, "", least=1)
LEVEL = Option("level", Literal["maps", "heads"], "maps", "")
NAME = Option("name", str | None, None, "")


@pytest.mark.parametrize(
    ("option", "text", "value"),
    [
        (K, "12", 12),
        (K, "auto", "auto"),
        (EPS, "1e-3", 0.001),
        (NEAR, "3", 3),
        (LEVEL, "heads", "heads"),
        (NAME, "x", "x"),
    ],
)
def test_values_are_parsed_and_allowed(option, text, value):
    parsed = option.parse(text)
    assert parsed == value and type(parsed) is type(value)
    option.check(parsed)
    option.check(option.default)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        (K, 1, "k 1: give a whole number of at least 2, or auto"),
        (K, 2.0, "k 2.0: give a whole number of at least 2, or auto"),
        (K, True, "k True: give a whole number"),
        (K, "many", "k 'many': give a whole number"),
        (K, None, "k None: give"),
        (EPS, 0, "eps 0: give a distance above 0, or auto"),
        (EPS, float("nan"), "eps nan: give a distance above 0, or auto"),
        (EPS, float("inf"), "eps inf: give a distance above 0, or auto"),
        (SEED, -1, "seed -1: it cannot be negative"),
        (NEAR, 0, "near 0: give a whole number of at least 1"),
        (LEVEL, "rows", "level 'rows': choose maps or heads"),
        (LEVEL, 3, "level 3: choose maps or heads"),
        (NAME, 3, "name 3: give text"),
    ],
)
def test_invalid_values_are_refused(option, value, message):
    with pytest.raises(OptionError) as caught:
        option.check(value)
    assert str(caught.value).startswith(message)
    with pytest.raises(OptionError, match=f"^{option.flag} "):
        option.check(value, option.flag)


@pytest.mark.parametrize(
    ("option", "expected"), [(K, "a number or auto"), (NEAR, "a number"), (EPS, "a number or auto")]
)
def test_text_that_is_not_a_number_is_refused(option, expected):
    with pytest.raises(OptionError, match=f"^{option.flag} abc: give {expected}$"):
        option.parse("abc")


# --- the methods


def test_declarations_load_nothing_heavy():
    heavy = ["torch", "transformers", "pyarrow", "zarr", "sklearn", "scipy", "numba", "matplotlib", "umap", "openTSNE"]
    modules = [f"headatlas.stages.{stage}.methods.{name}" for stage, name in METHODS]
    modules += ["headatlas.stages.features.encoders", "headatlas.data.readers"]
    blocked = f"import sys; sys.modules.update(dict.fromkeys({heavy}))"
    process = subprocess.run(
        [sys.executable, "-c", f"{blocked}; import {', '.join(modules)}"], capture_output=True, text=True
    )
    assert process.returncode == 0, process.stderr


@every_method
def test_the_signature_matches_the_declared_options(stage, name):
    function, options = STAGES[stage].METHODS[name], STAGES[stage].CLASSES[name].options()
    atlas, *parameters = inspect.signature(function).parameters.values()
    assert atlas.name == "atlas" and all(parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters)
    declared = {option.name: (option.default, option.annotation) for option in options}
    assert {parameter.name: (parameter.default, parameter.annotation) for parameter in parameters} == declared
    _, *written, shared = inspect.signature(
        function.__wrapped__, eval_str=True
    ).parameters.values()  # for type checkers
    for parameter in written:
        assert (parameter.default, parameter.annotation) == declared.pop(parameter.name)
    (keys,) = get_args(shared.annotation)
    assert get_type_hints(keys) == {name: annotation for name, (_, annotation) in declared.items()}


@every_method
def test_a_mistyped_option_is_refused_by_name(stage, name):
    with pytest.raises(TypeError, match=rf"^{name}\(\) got an unexpected keyword argument 'sed'"):
        STAGES[stage].METHODS[name](None, sed=1)


@every_method
def test_the_docstring_explains_every_option_after_an_example(stage, name):
    text = inspect.getdoc(STAGES[stage].METHODS[name])
    example, parameters, returns = (text.index(part) for part in (">>> ", "Parameters\n---", "Returns\n---"))
    assert example < parameters < returns
    names = re.findall(r"^([a-z_, ]+) : ", text[parameters:returns], re.M)
    described = {option for part in names for option in part.split(", ")}
    assert described == {"atlas", *(option.name for option in STAGES[stage].CLASSES[name].options())}


@pytest.mark.parametrize("stage", STAGES)
def test_an_option_has_one_type_in_all_methods(stage):
    kinds = {}
    for method in STAGES[stage].CLASSES.values():
        for option in method.options():
            kinds.setdefault(option.name, set()).add((option.kind, option.words))
    assert all(len(types) == 1 for types in kinds.values())


@pytest.mark.parametrize("stage", STAGES)
def test_the_stage_offers_its_methods(stage):
    import headatlas

    package = getattr(headatlas, stage)
    assert list(package.METHODS) == list(STAGES[stage].CLASSES) and next(iter(package.METHODS)) == STAGES[stage].DEFAULT
    for name, function in package.METHODS.items():
        assert getattr(package, name) is function and function.__name__ == name and name in dir(package)
    with pytest.raises(AttributeError, match="no attribute 'ward'"):
        package.ward  # noqa: B018


# --- the tables in the docs


def check_table(page, marker, *rows):
    """The table in the docs has these rows; the first has the headings."""
    rows = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    assert_table(ROOT / "docs" / page, marker, [f"| {' | '.join(row)} |" for row in rows])


def option_rows(classes):
    """One row per option: the methods that take it, its default, what it means."""
    for name, flag in flags_of({name: method.options() for name, method in classes.items()}).items():
        meanings = {option.help for option in flag.takers.values()}
        meaning = flag.help if len(meanings) > 1 else flag.option.help
        yield f"`{name}`", "all" if flag.shared else ", ".join(flag.takers), flag.default, meaning


@pytest.mark.parametrize("stage", STAGES)
def test_the_table_of_options_in_the_docs(stage):
    rows = [("option", "methods", "default", "meaning"), *option_rows(STAGES[stage].CLASSES)]
    check_table(f"{stage}.md", "options", *rows)


def test_the_table_of_clustering_methods_in_the_docs():
    rows = [("method", "a cluster is", "chosen by `auto`", "maps fitted")]
    for name, method in clustering.CLASSES.items():
        chosen = "; ".join(f"`{option.name}`: {option.auto}" for option in method.options() if option.auto)
        rows.append((f"`{name}`", method.help, chosen, f"{method.sample:,}"))
    check_table("cluster.md", "methods", *rows)


def test_the_table_of_projections_in_the_docs():
    rows = [(f"`{name}`", method.help, f"{method.sample:,}") for name, method in projecting.CLASSES.items()]
    check_table("project.md", "methods", ("method", "draws", "maps fitted"), *rows)


def test_the_table_of_forms_in_the_docs():
    forms = {}
    for reader in READERS.values():
        forms.setdefault((reader.example, reader.id), []).append(f"`{reader.form}`")
    rows = [(" ".join(names), *meaning) for meaning, names in forms.items()]
    check_table("data.md", "forms", ("name", "an example is", "id"), *rows)


OTHER_ENCODERS = [
    ("`FILE.safetensors`", "a network made by `headatlas encoder train`", "as trained"),
    (
        "`facebook/dinov2-small`, `./folder`",
        "any Hugging Face vision model: the map is shown to it as an image",
        "the model's",
    ),
]


def test_the_table_of_encoders_in_the_docs():
    rows = [
        (f"`{name}`" + " (default)" * (name == encoders.DEFAULT), entry.help, entry.width)
        for name, entry in encoders.NAMES.items()
    ]
    check_table("features.md", "encoders", ("`--encoder`", "vector of a map", "width"), *rows, *OTHER_ENCODERS)


def test_the_table_of_views_in_the_docs():
    rows = [(f"`{name}`" + " (default)" * (name == "map"), meaning) for name, meaning in encoders.VIEWS.items()]
    check_table("features.md", "views", ("`--views`", "trained on"), *rows)
