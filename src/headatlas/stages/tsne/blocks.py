"""Experiments that can be stopped and gone on with: a folder with a recipe, and one Parquet file a block of work."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headatlas import __version__, parallel, progress
from headatlas.atlas.files import Files
from headatlas.errors import OptionError, StoreError

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Folder:
    """Where the blocks of one experiment lie: `NAME.json`, and `NAME/block-000000.parquet` and so on."""

    files: Files
    name: str

    def path(self, number: int) -> str:
        """The file of a block."""
        return f"{self.name}/block-{number:06d}.parquet"

    def read(self, number: int) -> pa.Table | None:
        """A finished block, None if it is not there or cannot be read."""
        if not self.files.exists(self.path(number)):
            return None
        try:
            return pq.read_table(pa.BufferReader(self.files.read(self.path(number))))
        except (pa.ArrowInvalid, OSError):
            progress.say(f"{self.files.url}/{self.path(number)} is damaged: computed anew")
            return None

    def write(self, number: int, rows: Rows) -> None:
        """Write a block whole."""
        with self.files.writing(self.path(number)) as file:
            pq.write_table(pa.Table.from_pylist(rows), file, compression="zstd")


def begin(folder: str | os.PathLike[str], name: str, recipe: Mapping[str, Any]) -> Folder:
    """Begin an experiment in a folder, or go on with it if its recipe is the same."""
    files = Files(folder)
    asked = json.loads(json.dumps(dict(recipe) | {"version": __version__}))
    if files.exists(f"{name}.json"):
        try:
            there = json.loads(files.read(f"{name}.json"))
        except ValueError:
            raise StoreError(
                f"{files.url}/{name}.json is damaged. Delete it, or choose another place with -o"
            ) from None
        other = [key for key in asked if there.get(key) != asked[key]]
        if other:
            values = "; ".join(f"{key} is {there.get(key)} there and {asked[key]} here" for key in other)
            raise OptionError(f"{files.url} holds another {name}: {values}. Choose another place with -o")
        files.sweep(name)
    else:
        files.write(f"{name}.json", (json.dumps(asked, indent=1, sort_keys=True) + "\n").encode())
    return Folder(files, name)


@dataclass(frozen=True)
class _Work:
    folder: Folder
    make: Callable[[int], Rows]

    def __call__(self, number: int) -> int:
        parallel.check()
        self.folder.write(number, self.make(number))
        return number


def run(folder: Folder, count: int, make: Callable[[int], Rows], unit: str) -> pa.Table:
    """Make all blocks that are not there, in threads, and give all of them as one table, in order."""
    there = {number: table for number in range(count) if (table := folder.read(number)) is not None}
    missing = [number for number in range(count) if number not in there]
    with (
        progress.bar(folder.name, count, unit) as advance,
        closing(parallel.run(_Work(folder, make), missing)) as results,
    ):
        advance(len(there))
        for _ in results:
            advance(1)
    return pa.concat_tables(_all(folder, range(count)))


def _all(folder: Folder, numbers: Iterable[int]) -> list[pa.Table]:
    found = [folder.read(number) for number in numbers]
    if any(one is None for one in found):
        raise StoreError(f"{folder.files.url}: a block that was written cannot be read. Run the same command again")
    return found
