"""Folders that are filled once per test run and used by all of its workers."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

import headatlas as ha


def shared_folder(factory: pytest.TempPathFactory, name: str, fill: Callable[[Path], object]) -> Path:
    """A folder that the first worker to ask for it fills while the others wait; it is only to be read."""
    base = factory.getbasetemp()
    run = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base  # a worker has a folder within that of the run
    folder, filled = run / "shared" / name, run / "shared" / f"{name}.filled"
    folder.parent.mkdir(exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if not filled.exists():
            shutil.rmtree(folder, ignore_errors=True)  # left by a worker that failed
            folder.mkdir()
            fill(folder)
            filled.touch()
    return folder


def shared_atlas(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> ha.Atlas:
    """A copy, for this worker, of an atlas made once per run: `make` writes `NAME.atlas` into a folder."""
    folder = shared_folder(factory, name, make)
    copied = factory.mktemp(name) / f"{name}.atlas"
    return ha.open(shutil.copytree(folder / f"{name}.atlas", copied))
