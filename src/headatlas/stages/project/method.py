"""What a projection is: declared options, and positions in the plane for vectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, TypedDict

import numpy as np
from numpy.typing import NDArray

from headatlas import options
from headatlas.options import Option, declared, option
from headatlas.stages.project.reduction import Vectors

Positions = NDArray[np.float32]  # (example, layer, head, 2)


@dataclass
class Method(ABC):
    """A projection before and after it was fitted. Fields that are declared with `option` are its options."""

    name: ClassVar[str]
    help: ClassVar[str]  # a few words on what it shows
    sample: ClassVar[int]  # default number of maps that are fitted
    at_once: ClassVar[bool] = False  # whether several threads may place points at the same time
    linear: ClassVar[bool] = False  # whether the axes are the first two components, whose variance is known

    @abstractmethod
    def fit(self, vectors: Vectors) -> Vectors:
        """Positions of the sample."""

    @abstractmethod
    def place(self, vectors: Vectors) -> Vectors:
        """Positions of further vectors."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The values of its options."""
        return {option.name: getattr(self, option.name) for option in declared(type(self))}

    @classmethod
    def options(cls) -> tuple[Option, ...]:
        """Every option of the public function."""
        return options.combined(cls, Request, sample=cls.sample)


@dataclass(frozen=True)
class Request:
    """A request: a method, and the options that all methods share."""

    method: Method
    of: str | None = option(None, help="Features to project; the latest if not given.")
    name: str | None = option(None, help="Name of the result; the method's if not given.")
    sample: int = option(5_000, least=4, help="Maps to fit, equally many of each head; the rest is placed among them.")
    seed: int = option(0, least=0, help=options.SEED)
    workers: int = option(0, least=0, help=options.WORKERS)
    scheduler: str | None = option(None, help=options.SCHEDULER)


class Shared(TypedDict, total=False):
    """The options of a `Request`, for type checkers."""

    of: str | None
    name: str | None
    sample: int
    seed: int
    workers: int
    scheduler: str | None


POSITIONS = """
    positions : array (example, layer, head, 2)
        NaN for a head that does not exist. The array `trust` says how far each point can be trusted.
"""
