"""Fine-tune a model: what can be checked before torch is imported, then the run itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from headatlas import model_names
from headatlas.atlas import lock
from headatlas.atlas.files import Files
from headatlas.data import Dataset
from headatlas.errors import OptionError
from headatlas.model_names import without_weights
from headatlas.stages.finetune import recipe
from headatlas.stages.finetune.metrics import Metrics
from headatlas.stages.finetune.task import Evaluator, Name, Request
from headatlas.wording.finetune import evaluated_line, trained_line


@dataclass(frozen=True)
class Result:
    """A trained model: its folder, and the rows of its metrics."""

    folder: Path
    unit: str
    metrics: tuple[dict[str, Any], ...]

    def __str__(self) -> str:
        last = {row["kind"]: row for row in self.metrics}
        trained, evaluated = last.get("training", {}), last.get("evaluation")
        steps, items, seconds = (trained.get(name, 0) for name in ("step", "examples", "seconds"))
        line = trained_line(str(self.folder), steps, items, self.unit, seconds, trained.get("loss"))
        return line if evaluated is None else f"{line}\n{evaluated_line(evaluated)}"


def finetune(
    model: Name,
    data: Any,
    folder: Name,
    request: Request,
    evaluation: Any,
    evaluator: Evaluator | None,
    from_scratch: bool,
) -> Result:
    """Train as requested, or continue, or return what is finished already."""
    request.check()
    _check_packages(request)
    _check_model(os.fspath(model), request, from_scratch)
    task, home = request.task, Path(folder).expanduser()
    datasets = [task.load(spec, request.limit) for spec in _several(data)]
    held = None if evaluation is None else task.load(evaluation, request.limit)
    made = recipe.make(os.fspath(model), datasets, held, request, from_scratch)
    with Files(home).guard(), _alone(home):
        if first_process():
            recipe.settle(home, made)
        if not (home / recipe.FINISHED).exists():
            from headatlas.stages.finetune.run import Run

            items = task.training_items(datasets, request.seed)
            held_items = None if held is None else task.evaluation_items(held, items)
            Run(home, made, request, items, held_items, evaluator).finish()
    return Result(home, task.unit, tuple(Metrics(home).rows()))


def _check_packages(request: Request) -> None:
    """A missing package is reported now, not after reading."""
    for package in ("accelerate", *(("peft",) if request.lora else ())):
        if find_spec(package) is None:
            raise OptionError(f"finetune needs {package}. Run: pip install 'headatlas[finetune]'")


def _check_model(name: str, request: Request, from_scratch: bool) -> None:
    """Report a wrong name before data are read."""
    random = from_scratch or without_weights(name)
    if random and request.lora:
        raise OptionError("lora adapts weights that were trained, but all weights are random here: leave one out")
    if not random:
        model_names.check(name)


def _several(data: Any) -> list[Any]:
    """Datasets: a list of names and datasets is several, anything else is one."""
    several = isinstance(data, list | tuple) and all(isinstance(item, str | os.PathLike | Dataset) for item in data)
    return list(data) if several else [data]


def first_process() -> bool:
    """Whether this is the process that writes; `accelerate launch` and torchrun number the processes they start."""
    return os.environ.get("RANK", "0") == "0"


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the lock of the folder; only the first of several processes of one run takes it."""
    folder.mkdir(parents=True, exist_ok=True)
    with lock.hold(Files(folder), "training", folder="") if first_process() else nullcontext():
        yield
