"""The build: the page is made from its source and from generated files, only when needed, and packages are complete."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest

from conftest import ROOT

# what a build environment has besides Python itself
FOREIGN = (
    "numpy",
    "zarr",
    "torch",
    "pyarrow",
    "transformers",
    "fsspec",
    "matplotlib",
    "sklearn",
    "typer",
    "rich",
    "uvicorn",
)

VIT = "src/headatlas/models/weights/vit"
BUILD_JS = """
const fs = require("fs");
const schema = JSON.parse(fs.readFileSync("openapi.json", "utf8"));
fs.mkdirSync("../src/headatlas/web/static/assets", { recursive: true });
fs.writeFileSync("../src/headatlas/web/static/index.html", "<!doctype html>" + Object.keys(schema.paths).length);
fs.writeFileSync("../src/headatlas/web/static/assets/main-1.js", fs.readFileSync("src/main.ts"));
fs.appendFileSync("../builds.log", "built\\n");
"""
PACKAGE = {
    "name": "page",
    "version": "1.0.0",
    "private": True,
    "scripts": {"build": "npm run page", "page": "node src/build.cjs"},
}
ROOT_PACKAGE = {"name": "page", "version": "1.0.0"}
LOCK = ROOT_PACKAGE | {"lockfileVersion": 3, "requires": True, "packages": {"": ROOT_PACKAGE}}


def python(*arguments, cwd, **variables):
    env = {name: value for name, value in os.environ.items() if name != "HEADATLAS_SKIP_FRONTEND"} | variables
    return subprocess.run([sys.executable, *arguments], cwd=cwd, env=env, capture_output=True, text=True, timeout=300)


@pytest.fixture
def tree(tmp_path):
    """This source tree with a page that needs no packages, so that npm needs no connection."""
    root = tmp_path / "tree"
    shutil.copytree(
        ROOT / "src", root / "src", ignore=shutil.ignore_patterns("__pycache__", "static", "weights", "sample")
    )
    shutil.copytree(ROOT / VIT, root / VIT)
    for name in (
        "pyproject.toml",
        "hatch_build.py",
        "README.md",
        "LICENSE",
        ".gitignore",
        "CHANGELOG.md",
        "constraints.txt",
    ):
        shutil.copy(ROOT / name, root)
    (root / "frontend" / "src" / "generated").mkdir(parents=True)
    (root / "frontend" / "src" / "generated" / "schema.ts").write_text("// of an earlier build")
    (root / "frontend" / "node_modules" / "x").mkdir(parents=True)
    (root / "frontend" / "node_modules" / "x" / "x.js").write_text("//")
    (root / "frontend" / "package.json").write_text(json.dumps(PACKAGE))
    (root / "frontend" / "package-lock.json").write_text(json.dumps(LOCK))
    (root / "frontend" / "src" / "build.cjs").write_text(BUILD_JS)
    (root / "frontend" / "src" / "main.ts").write_text("export {};")
    return root


def built(root):
    log = root / "builds.log"
    return len(log.read_text().splitlines()) if log.exists() else 0


LIGHT = [
    "atlas",
    "atlas.annotations",
    "optional_statistics",
    "phrases",
    "sources",
    "statistic",
    "statistics",
    "wording",
]


def test_generating_files_needs_only_fastapi(tmp_path):
    blocked = f"import sys\nfor name in {FOREIGN!r}: sys.modules[name] = None\n"
    write = "from pathlib import Path\nfrom headatlas.web.api import typescript\ntypescript.generate(Path())\n"
    code = blocked + write
    code += (
        "names = {n.removeprefix('headatlas.') for n in sys.modules if n.startswith('headatlas.') and 'web' not in n}\n"
    )
    code += "print(sorted({n if n.startswith('atlas') else n.split('.')[0] for n in names}))"
    process = python("-c", code, cwd=tmp_path)
    assert process.returncode == 0, process.stderr
    assert process.stdout.strip() == str(LIGHT)
    schema = json.loads((tmp_path / "openapi.json").read_text())
    assert "/api/atlas.json" in schema["paths"] and "AtlasCard" in schema["components"]["schemas"]
    assert "HTTPValidationError" not in schema["components"]["schemas"]
    written = [tmp_path / "openapi.json", *sorted((tmp_path / "src" / "generated").iterdir())]
    generated = {"paths.ts", "encoding.ts", "statistics.ts", "thresholds.ts"}
    assert {file.name for file in written} == {"openapi.json", *generated}
    assert "export const STABLE = 0.85;" in (tmp_path / "src" / "generated" / "thresholds.ts").read_text()
    assert "export const MISSING = 65534;" in (tmp_path / "src" / "generated" / "encoding.ts").read_text()
    before = [file.stat().st_mtime_ns for file in written]
    assert python("-c", write, cwd=tmp_path).returncode == 0
    assert [file.stat().st_mtime_ns for file in written] == before  # unchanged files are not rewritten


def test_the_server_gives_the_schema_that_the_page_was_made_from():
    from headatlas.web.api.openapi import schema
    from support import served

    assert served.client(served.bare()).get("/api/openapi.json").json() == schema()


def test_a_wheel_holds_the_page_and_rebuilds_it_only_when_needed(tree):
    def wheel():
        process = python("-m", "hatchling", "build", "-t", "wheel", cwd=tree)
        assert process.returncode == 0, process.stderr
        with zipfile.ZipFile(next((tree / "dist").glob("*.whl"))) as file:
            return {name: file.read(name) for name in file.namelist()}, process.stderr

    files, output = wheel()
    paths = len(json.loads((tree / "frontend" / "openapi.json").read_text())["paths"])
    assert files["headatlas/web/static/index.html"].decode() == f"<!doctype html>{paths}"
    assert files["headatlas/web/static/assets/main-1.js"] == b"export {};"
    for name in ("model.safetensors", "config.json", "preprocessor_config.json", "README.md"):
        assert files[f"headatlas/models/weights/vit/{name}"] == (ROOT / VIT / name).read_bytes()
    assert "headatlas/web/server/app.py" in files and not any("frontend" in name or ".page" in name for name in files)
    assert "npm ci" in output and built(tree) == 1
    assert "up to date" in wheel()[1] and built(tree) == 1
    (tree / "frontend" / "src" / "main.ts").write_text("export const x = 1;")  # the page changes
    files, output = wheel()
    assert built(tree) == 2 and "npm ci" not in output
    assert files["headatlas/web/static/assets/main-1.js"] == b"export const x = 1;"
    payloads = tree / "src" / "headatlas" / "web" / "api" / "payloads" / "atlas.py"  # what the server sends changes
    payloads.write_text(payloads.read_text().replace("    tokens: int\n", "    tokens: int\n    more: int = 0\n", 1))
    wheel()
    assert built(tree) == 3
    encoding = tree / "src" / "headatlas" / "web" / "api" / "encoding.py"  # how buffers are read changes
    encoding.write_text(encoding.read_text().replace("NOISE, MISSING = 65535, 65534", "NOISE, MISSING = 65535, 65533"))
    wheel()
    generated = tree / "frontend" / "src" / "generated" / "encoding.ts"
    assert built(tree) == 4 and "MISSING = 65533" in generated.read_text()


def test_a_source_package_builds_the_same_page_elsewhere(tree, tmp_path):
    process = python("-m", "hatchling", "build", "-t", "sdist", cwd=tree)
    assert process.returncode == 0 and built(tree) == 0, process.stderr  # the page is built with the wheel
    with tarfile.open(next((tree / "dist").glob("*.tar.gz"))) as file:
        names = file.getnames()
        file.extractall(tmp_path / "un", filter="data")
    inside = {name.split("/", 1)[1] for name in names if "/" in name}
    assert {
        "frontend/package.json",
        "frontend/src/build.cjs",
        "hatch_build.py",
        "src/headatlas/web/server/app.py",
    } <= inside
    excluded = ("node_modules", "static/", "openapi.json", "src/generated")
    assert not any(part in name for name in inside for part in excluded)
    unpacked = next((tmp_path / "un").iterdir())
    process = python("-m", "hatchling", "build", "-t", "wheel", cwd=unpacked)
    assert process.returncode == 0, process.stderr
    with zipfile.ZipFile(next((unpacked / "dist").glob("*.whl"))) as file:
        assert "headatlas/web/static/index.html" in file.namelist()


def test_an_editable_install_builds_the_page_too(tree):
    code = "from hatchling.build import build_editable; print(build_editable('dist'))"
    process = python("-c", code, cwd=tree)
    assert process.returncode == 0, process.stderr
    assert (tree / "src" / "headatlas" / "web" / "static" / "index.html").exists() and built(tree) == 1


def test_the_page_can_be_left_out(tree):
    process = python("-m", "hatchling", "build", "-t", "wheel", cwd=tree, HEADATLAS_SKIP_FRONTEND="1")
    assert process.returncode == 0 and "no page is built" in process.stderr and built(tree) == 0


def test_a_failed_build_says_what_to_do(tree):
    (tree / "frontend" / "package.json").write_text(
        json.dumps(PACKAGE | {"scripts": {"build": "node -e 'process.exit(3)'"}})
    )
    process = python("-m", "hatchling", "build", "-t", "wheel", cwd=tree)
    assert process.returncode != 0 and "`npm run build` failed" in process.stderr
    assert "HEADATLAS_SKIP_FRONTEND=1" in process.stderr and "NPM_CONFIG_REGISTRY" in process.stderr


def test_declarations_are_written_for_the_page_and_rebuild_it(tree):
    def build():
        process = python("-m", "hatchling", "build", cwd=tree)
        assert process.returncode == 0, process.stderr
        return (tree / "frontend" / "src" / "generated" / "statistics.ts").read_text()

    assert '"label": "attention to the previous token"' in build() and built(tree) == 1
    with tarfile.open(next((tree / "dist").glob("*.tar.gz"))) as file:
        assert not any("generated" in name for name in file.getnames())
    source = tree / "src" / "headatlas" / "statistics.py"
    source.write_text(source.read_text().replace("attention to the previous token", "attention one token back"))
    assert '"label": "attention one token back"' in build() and built(tree) == 2
