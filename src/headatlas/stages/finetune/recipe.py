"""recipe.json: what a folder is trained with. The same recipe continues; another one is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headatlas.data import Dataset
from headatlas.errors import OptionError, StoreError
from headatlas.options import declared
from headatlas.stages.finetune.task import Request

FILE = "recipe.json"
FREE = {"threads"}  # may differ when training continues
FINISHED = "README.md"  # written last
TRAINED = {"checkpoint", "steps", FINISHED}  # there is one of these if something was trained
OURS = {FILE, "metrics.jsonl"}
UNFINISHED = ".unfinished"


def make(
    model: str, datasets: Sequence[Dataset], evaluation: Dataset | None, request: Request, from_scratch: bool
) -> dict[str, Any]:
    """Everything that decides what is trained."""
    shared = {option.name: getattr(request, option.name) for option in declared(Request) if option.name not in FREE}
    return {
        "model": model,
        "task": request.task.name,
        "data": [_identity(dataset) for dataset in datasets],
        "evaluation": _identity(evaluation) if evaluation is not None else None,
        "from_scratch": from_scratch,
        **request.task.parameters,
        **shared,
    }


def _identity(dataset: Dataset) -> dict[str, str]:
    return {"name": dataset.name, "fingerprint": dataset.fingerprint}


def settle(folder: Path, recipe: Mapping[str, Any]) -> None:
    """Write the recipe into a folder where nothing was trained yet; refuse one that holds something else."""
    path = folder / FILE
    names = {file.name for file in folder.iterdir()}
    if FILE in names and names & TRAINED:
        _compare(folder, read(path), recipe)
        return
    others = sorted(name for name in names - OURS if not name.endswith((".lock", UNFINISHED)))
    if others:
        raise StoreError(f"{folder} is not empty ({others[0]}) and has no {FILE}. Choose another folder with -o")
    write(path, recipe)


def _compare(folder: Path, stored: Mapping[str, Any], recipe: Mapping[str, Any]) -> None:
    changed = [name for name in {**stored, **recipe} if stored.get(name) != recipe.get(name)]
    if changed:
        raise OptionError(
            f"{folder} was trained with {_shown(changed[0], stored)}, not {_shown(changed[0], recipe)}. "
            "Give the same options to continue, or another folder with -o"
        )


def read(path: Path) -> dict[str, Any]:
    """A stored recipe."""
    try:
        recipe = json.loads(path.read_text())
    except ValueError as error:
        raise StoreError(f"{path} is damaged ({error}). Delete its folder, and train again") from error
    return recipe if isinstance(recipe, dict) else {}


def write(path: Path, recipe: Mapping[str, Any]) -> None:
    """Write a recipe as a whole or not at all."""
    written = path.with_suffix(UNFINISHED)
    written.write_text(json.dumps(recipe, indent=2) + "\n")
    written.replace(path)


def _shown(name: str, recipe: Mapping[str, Any]) -> str:
    value = recipe.get(name)
    if name == "data" and isinstance(value, list):
        value = ", ".join(f"{item['name']} ({item['fingerprint'][:8]})" for item in value)
    if name == "evaluation" and isinstance(value, dict):
        value = f"{value['name']} ({value['fingerprint'][:8]})"
    return f"{name.replace('_', ' ')} {value}"
