"""Checkpoints: written under another name and renamed, so that one that exists is complete.

`checkpoint/000500` holds what is needed to continue after step 500; only the last is kept. `steps/000500` is the model
after step 500, kept for comparison.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headatlas.errors import StoreError

UNFINISHED = "training.unfinished"
POSITION = "position.json"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A place from which training can continue."""

    path: Path
    step: int
    seconds: float


class Checkpoints:
    """The checkpoints of a training folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "checkpoint"
        self.kept = folder / "steps"

    @property
    def unfinished(self) -> Path:
        """Where the trainer writes."""
        return self.folder.with_name(UNFINISHED)

    def last(self) -> Checkpoint | None:
        """The last complete checkpoint, after checking that its files are as they were written."""
        paths = [path for path in self.folder.glob("*") if path.name.isdecimal()] if self.folder.is_dir() else []
        if not paths:
            return None
        path = max(paths, key=lambda path: int(path.name))
        try:
            position = json.loads((path / POSITION).read_text())
            intact = position["files"] == _digests(path)
        except (OSError, ValueError, KeyError):
            intact = False
        if not intact:
            raise StoreError(f"the checkpoint {path} is damaged. Delete {self.folder.parent}, and train again")
        return Checkpoint(path, position["step"], position["seconds"])

    def complete(self, written: Path, step: int, seconds: float) -> None:
        """Give a checkpoint its name, and delete earlier ones."""
        position = {"step": step, "seconds": seconds, "files": _digests(written)}
        (written / POSITION).write_text(json.dumps(position))
        self.folder.mkdir(exist_ok=True)
        target = self.folder / name_of(step)
        shutil.rmtree(target, ignore_errors=True)
        written.rename(target)
        for other in self.folder.glob("*"):
            if other != target:
                shutil.rmtree(other)

    def keep(self, step: int, save: Callable[[Path], Any]) -> None:
        """Write the model after a step, to be kept."""
        written, target = self.unfinished / name_of(step), self.kept / name_of(step)
        shutil.rmtree(written, ignore_errors=True)
        written.mkdir(parents=True)
        save(written)
        self.kept.mkdir(exist_ok=True)
        shutil.rmtree(target, ignore_errors=True)
        written.rename(target)

    def clear_unfinished(self) -> None:
        """Delete what an interrupted process left."""
        shutil.rmtree(self.unfinished, ignore_errors=True)

    def clear(self) -> None:
        """Delete all checkpoints: training is complete."""
        self.clear_unfinished()
        shutil.rmtree(self.folder, ignore_errors=True)


def _digests(folder: Path) -> dict[str, str]:
    """The sha256 of every file of a checkpoint, but for the one that lists them."""
    digests = {}
    for path in sorted(folder.iterdir()):
        if path.name != POSITION:
            with path.open("rb") as file:
                digests[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    return digests


def name_of(step: int) -> str:
    """The name of the folder of a step.

    >>> name_of(500)
    '000500'
    """
    return f"{step:06}"
