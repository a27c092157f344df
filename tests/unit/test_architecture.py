"""The architecture holds: imports go one way, a bare import is light, and every example in the docs runs."""

import ast
import contextlib
import doctest
import importlib
import os
import pkgutil
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import headatlas
from headatlas.atlas import schema

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "headatlas"

# each part may import from lower levels and from its own package; every stage is a separate package
LEVELS = {
    "errors": 0, "interrupts": 0, "notebook": 0, "phrases": 0, "sources": 0, "statistic": 1, "optional_statistics": 2,
    "statistics": 3, "numeric": 1,
    "parallel": 1, "progress": 1, "wording": 1, "options": 1, "registry": 1, "data": 2, "model_names": 2, "models": 3,
    "atlas": 4, "stages": 5, "compare": 6, "evaluate": 6, "null": 6, "plot": 6, "pipeline": 7, "web": 7, "cli": 8,
    "__main__": 9, "__init__": 9,
}  # fmt: skip
WEB_LEVELS = {
    "api": 0, "views": 1, "compute": 2, "server": 3, "export_items": 4, "export_size": 4, "export": 5, "single": 5,
    "live": 6, "__init__": 7,
}  # fmt: skip
HEAVY = {"torch", "dask", "distributed", "transformers", "numba", "pyarrow", "zarr", "sklearn", "matplotlib", "scipy"}


def part_of(parts):
    """The part of the package that a dotted name belongs to."""
    return ".".join(parts[:2]) if parts[0] == "stages" else parts[0]


def modules():
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        yield path, part_of(parts)


def imports(tree):
    """Names imported anywhere except under TYPE_CHECKING."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module in ("headatlas", "headatlas.stages", "headatlas.web"):
            yield from (f"{node.module}.{alias.name}" for alias in node.names if not alias.name.startswith("__"))
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def test_imports_go_one_way():
    for path, part in modules():
        for name in imports(ast.parse(path.read_text())):
            if not name.startswith("headatlas."):
                continue
            other = part_of(name.split(".")[1:])
            lower = LEVELS[other.split(".")[0]] < LEVELS[part.split(".")[0]]
            assert other == part or lower or part == "__init__", f"{path.relative_to(SOURCE)} must not import {name}"


def test_imports_inside_web_go_one_way():
    for path in sorted((SOURCE / "web").rglob("*.py")):
        part = path.relative_to(SOURCE / "web").with_suffix("").parts[0]
        for name in imports(ast.parse(path.read_text())):
            if name.startswith("headatlas.web."):
                other = name.split(".")[2]
                allowed = other == part or WEB_LEVELS[other] < WEB_LEVELS[part]
                assert allowed, f"{path.relative_to(SOURCE)} must not import {name}"


@pytest.mark.parametrize(
    ("library", "files"), [("dask", {"parallel.py"}), ("distributed", {"parallel.py"}), ("zarr", {"zarr_arrays.py"})]
)
def test_a_library_is_imported_in_one_place(library, files):
    users = set()
    for path, _ in modules():
        if library in {name.split(".")[0] for name in imports(ast.parse(path.read_text()))}:
            users.add(path.name)
    assert users <= files


@pytest.mark.parametrize("code", ["import headatlas", "import headatlas.cli; headatlas.cli.app(['--help'])"])
def test_a_bare_import_and_help_are_light(code):
    lines = ["import sys", "try:", f"    {code}", "except SystemExit:", "    pass"]
    code = "\n".join([*lines, f"print(sorted({HEAVY!r} & set(sys.modules)), file=sys.stderr)"])
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert process.stderr.strip() == "[]"


def test_files_and_functions_stay_small():
    for path in [*SOURCE.rglob("*.py"), *(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").glob("*.py")]:
        assert len(path.read_text().splitlines()) <= 400, f"{path.name} is over 400 lines"
    for path, _ in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                assert node.end_lineno - node.lineno < 75, f"{path.name}: {node.name} is too long"


ALL = [name for _, name, _ in pkgutil.walk_packages(headatlas.__path__, "headatlas.") if not name.endswith("__main__")]


@pytest.mark.parametrize("name", ["headatlas", *ALL])
def test_docstring_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert failed == 0


PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_in_the_docs_run(page, tmp_path, monkeypatch, capsys):
    """Python blocks in one namespace, and `$ headatlas …` lines of console blocks, top to bottom in an empty folder."""
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "page"}
    for language, block in re.findall(r"^```(python|console)\n(.*?)^```", page.read_text(), re.M | re.S):
        if language == "python":
            exec(compile(block, page.name, "exec"), namespace)
            continue
        for line in re.findall(r"^\$ (.*)$", block, re.M):
            assert line.startswith(("headatlas ", "make ")), f"{page.name}: cannot run {line!r}"
            if line.startswith("headatlas "):
                run(line)


def run(line):
    """Run a command line like a shell; `> FILE` is supported."""
    command, _, target = line.partition(" > ")
    arguments = shlex.split(command, comments=True)[1:]
    with contextlib.ExitStack() as stack:
        if target:
            stack.enter_context(contextlib.redirect_stdout(stack.enter_context(Path(target.strip()).open("w"))))
        with pytest.raises(SystemExit) as end:
            headatlas.cli.app(arguments)
    assert end.value.code in (0, None), f"{line!r} ended with {end.value.code}"


def test_links_in_the_docs_have_targets():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_stage_has_its_page_and_the_readme_its_two_commands():
    for stage in schema.STAGES.values():
        assert (ROOT / "docs" / f"{stage.page or stage.name}.md").exists()
    readme = (ROOT / "README.md").read_text()
    assert "make demo" in readme and "make test" in readme
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_files_named_in_the_design_exist():
    """The diagram of the path of a map names a file at each step."""
    text = (ROOT / "docs" / "design.md").read_text()
    diagram = text[text.index("## The path of one attention map") : text.index("## Decisions")]
    names = re.findall(r"[\w/]+\.(?:py|ts)\b", diagram)
    assert len(names) > 12
    for name in names:
        assert (ROOT / name).exists() or (SOURCE / name).exists(), f"docs/design.md names {name}"
