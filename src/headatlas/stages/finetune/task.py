"""What a task is: declared options, items to train on, and each item as features."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict

from headatlas import data as readers
from headatlas import options
from headatlas.data import Dataset
from headatlas.errors import DataError, OptionError
from headatlas.options import Auto, Option, declared, option

if TYPE_CHECKING:
    from headatlas.models.task_networks import TaskNetwork
    from headatlas.stages.finetune.batches import Encoder

MAX_TOKENS = "Longest input in tokens; a longer one gives several windows, or is cut off to be classified."

Name = str | os.PathLike[str]
Evaluator = Callable[[Any, int], Mapping[str, Any]]  # numbers on the network after a step


@dataclass(frozen=True)
class Items:
    """What a network is trained on or evaluated with; what was read and left out, as facts and in lines."""

    items: Sequence[Any]
    facts: dict[str, Any] = field(default_factory=dict)
    lines: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()  # names of classes


@dataclass(frozen=True)
class Task(ABC):
    """A task. Fields that are declared with `option` are its options."""

    name: ClassVar[str]
    help: ClassVar[str]  # a few words on what the network learns
    unit: ClassVar[str]  # what an item is

    def check(self) -> None:
        """Refuse options that are invalid, or contradict one another."""
        options.check(self)

    @abstractmethod
    def automatic(self, config: Any) -> str:
        """The automatic class of transformers for a model of this configuration."""

    @abstractmethod
    def load(self, spec: Any, limit: int | None) -> Dataset:
        """A dataset by its name."""

    @abstractmethod
    def training_items(self, datasets: Sequence[Dataset], seed: int) -> Items:
        """The items of the datasets to train on."""

    @abstractmethod
    def evaluation_items(self, dataset: Dataset, training: Items) -> Items:
        """The items of a dataset to evaluate with."""

    @abstractmethod
    def encoder(self, model: TaskNetwork) -> Encoder[Any]:
        """The function that turns an item into features."""

    def settings(self, training: Items) -> Mapping[str, Any]:
        """Settings of the network that follow from the data."""
        return {}

    @property
    def parameters(self) -> dict[str, Any]:
        """The values of its options."""
        return {option.name: getattr(self, option.name) for option in declared(type(self))}

    @classmethod
    def options(cls) -> tuple[Option, ...]:
        """Every option of the public function."""
        return options.combined(cls, Request)


def checked(spec: Any, text_column: str | None, limit: int | None) -> Dataset:
    """A dataset of texts, whose first example was read: a wrong column or format shows before any work."""
    dataset = readers.load(spec, text_column=text_column, limit=limit)
    dataset.check()
    if dataset.modality != "text":
        raise DataError(f"{dataset.name} holds images. Give texts")
    return dataset


@dataclass(frozen=True)
class Request:
    """A request: a task, and the options that all tasks share."""

    task: Task
    epochs: float | None = option(None, above=0, help="Times to read the data; 2 without steps and minutes.")
    steps: int | None = option(None, least=1, help="Batches to train on.")
    minutes: float | None = option(None, above=0, help="Training time; the learning rate follows the time left.")
    batch: int = option(16, least=1, help="Windows per batch on each device.")
    learning_rate: float | Auto = option("auto", above=0, help="Peak learning rate.", auto="by the size of the model")
    warmup: float = option(0.1, least=0, help="Share of training in which the learning rate rises.")
    dropout: float | None = option(
        None, least=0, help="Share of values dropped in training; by default that of the model's configuration."
    )
    lora: int = option(0, least=0, help="Rank of LoRA adapters, merged at the end; 0 trains all weights.")
    evaluate_every: int | None = option(None, least=1, help="Steps between evaluations; by default only at the end.")
    save_every: int | None = option(None, least=1, help="Steps between models that are kept for comparison.")
    limit: int | None = option(None, least=1, help="Read only the first examples of each dataset.")
    seed: int = option(0, least=0, help=options.SEED)
    threads: int | None = option(None, least=1, help="Number of threads.")

    def check(self) -> None:
        """Refuse invalid options."""
        options.check(self)
        self.task.check()
        if self.warmup > 1:
            raise OptionError(f"warmup {self.warmup:g}: give a share of training, from 0 to 1")
        if self.dropout is not None and self.dropout >= 1:
            raise OptionError(f"dropout {self.dropout:g}: give a share below 1")


class Shared(TypedDict, total=False):
    """The options of a `Request`, for type checkers."""

    epochs: float | None
    steps: int | None
    minutes: float | None
    batch: int
    learning_rate: float | Auto
    warmup: float
    dropout: float | None
    lora: int
    evaluate_every: int | None
    save_every: int | None
    limit: int | None
    seed: int
    threads: int | None


LEADING = (
    ("model", "str or path", "A hub name, a local folder or `packaged`. A folder without weights gives random ones."),
    ("data", "dataset, or list of datasets", "What `data.load` takes; several are read one after another."),
    ("folder", "str or path", "Where the model is written. The same call continues after an interruption."),
)
MORE = (
    ("evaluation", "dataset, optional", "Data to evaluate with, of which a random part is taken."),
    (
        "evaluator",
        "callable, optional",
        "Called with the network and the step; its numbers are part of each evaluation.",
    ),
    ("from_scratch", "bool", "Take the architecture with random weights."),
)
RETURNS = """
    Result
        The folder, and what its metrics.jsonl says.
"""
