"""What a clustering method is: declared options, and a few functions on plain arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypedDict

import numpy as np
from numpy.typing import NDArray

from headatlas import options, wording
from headatlas.errors import OptionError
from headatlas.options import Auto, Option, declared, option
from headatlas.stages.cluster import auto
from headatlas.stages.cluster.auto import Stability
from headatlas.stages.cluster.backends import cuml
from headatlas.stages.cluster.fit import Fit, Labels, NearestFit
from headatlas.stages.cluster.vectors import Floats, Level

if TYPE_CHECKING:
    import pyarrow as pa

    from headatlas.atlas.store import Atlas

Units = NDArray[np.int64]
Backends = Mapping[str, Callable[..., Any]]  # the function that fits, by the name of its library


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """A way to cluster points. The fields of a method that are declared with `option` are its options."""

    name: ClassVar[str]
    help: ClassVar[str]  # a few words on what its clusters are
    parameter: ClassVar[str]  # the option that `auto` chooses and a sweep varies
    sample: ClassVar[int]  # default number of maps that are fitted
    trial: ClassVar[int] = 6000  # maps at most in a bootstrap sample
    backends: ClassVar[Backends]
    fit_type: ClassVar[type[Fit]] = NearestFit
    refines_over_all: ClassVar[bool] = False  # whether Lloyd's algorithm goes on over all maps if `sample` is 0
    keeps_fitted_labels: ClassVar[bool] = False  # whether `Fit.label` may differ from the labels of fitted maps
    more_arrays: ClassVar[tuple[str, ...]] = ()  # that `Fit.labelings` gives besides `labels`
    single: ClassVar[str] = "there is nothing to compare it with"  # what it means if there is only one cluster

    backend: str = option("sklearn", help="Library that fits: sklearn, or cuml where RAPIDS is installed.")

    def check(self, count: int) -> None:
        """Refuse options that are invalid for this many maps."""
        options.check(self)
        if self.backend not in self.backends:
            raise OptionError(f"backend {self.backend!r}: choose {options.either(tuple(self.backends))}")
        if self.backend == "cuml":
            cuml("KMeans")  # a missing library is reported now, not after an hour of reading
        self.check_count(count)

    @abstractmethod
    def check_count(self, count: int) -> None:
        """Refuse options that are too large for this many maps."""

    @abstractmethod
    def settle(
        self, x: Floats, small: Floats, seed: int, bar: bool = True, units: Units | None = None
    ) -> tuple[Self, Stability, list[tuple[float, float]]]:
        """The method with nothing left to choose, its stability on the `small` part of the points, and what was tried.

        What was tried is a list of values of `parameter`, each with its stability. `units` are the groups of
        examples of the small part, for methods that draw whole groups.
        """

    @abstractmethod
    def fit(self, x: Floats, seed: int) -> tuple[Fit, Labels]:
        """Fit all points; clusters are numbered by size."""

    @abstractmethod
    def regroup(self, x: Floats, weights: NDArray[np.int64], seed: int) -> Labels:
        """Cluster a bootstrap sample, in which each point was drawn `weights` times, as the settled method would."""

    @classmethod
    @abstractmethod
    def sweep_grid(cls, x: Floats, ks: Sequence[int]) -> list[Self]:
        """The methods that a sweep over these points compares; `ks` are numbers of clusters."""

    @property
    @abstractmethod
    def least_maps(self) -> int:
        """The fewest maps that can be clustered with these options."""

    def more_tables(self, atlas: Atlas, of: str) -> dict[str, pa.Table]:
        """Tables that only this method writes, once all maps of the result `of` are labeled."""
        return {}

    @property
    def parameters(self) -> dict[str, Any]:
        """The given or chosen values of its options, without the backend."""
        return {option.name: getattr(self, option.name) for option in declared(type(self)) if option.name != "backend"}

    @classmethod
    def options(cls) -> tuple[Option, ...]:
        """Every option of the public function."""
        return options.combined(cls, Request, Method, sample=cls.sample)


@dataclass(frozen=True)
class PartitionMethod(Method):
    """A method that takes the number of clusters, or chooses the most stable one."""

    parameter: ClassVar[str] = "k"

    k: int | Auto = option("auto", least=2, help="Number of clusters, or auto.", auto=auto.STABLEST)

    def check_count(self, count: int) -> None:
        """Refuse more clusters than maps."""
        if self.k != "auto" and self.k > count:
            raise OptionError(f"k {self.k}: there are only {wording.many(count, 'map')}. Choose a smaller k, or auto")

    def settle(
        self, x: Floats, small: Floats, seed: int, bar: bool = True, units: Units | None = None
    ) -> tuple[Self, Stability, list[tuple[float, float]]]:
        """The k of the grid with the highest stability; the smallest in case of ties."""
        candidates = [replace(self, k=k) for k in (auto.grid(len(small)) if self.k == "auto" else [self.k])]
        best, stabilities = auto.most_stable([candidate.regroup for candidate in candidates], small, seed=seed, bar=bar)
        tried = [(float(candidate.k), stable.mean) for candidate, stable in zip(candidates, stabilities, strict=True)]
        return candidates[best], stabilities[best], tried

    @classmethod
    def sweep_grid(cls, x: Floats, ks: Sequence[int]) -> list[Self]:
        """Each number of clusters."""
        return [cls(k) for k in ks]

    @property
    def least_maps(self) -> int:
        """One map per cluster."""
        return 1 if self.k == "auto" else self.k


@dataclass(frozen=True)
class Request:
    """A request: a method, and the options that all methods share."""

    method: Method
    of: str | None = option(None, help="Features to cluster; the latest if not given.")
    name: str | None = option(None, help="Name of the result; the method's if not given.")
    level: Level = option("maps", help="Cluster maps, or heads (the mean vector of each).")
    sample: int = option(0, help="Maps to fit, equally many of each head; the rest is labeled. 0: all.")
    seed: int = option(0, least=0, help=options.SEED)
    workers: int = option(0, least=0, help=options.WORKERS)
    scheduler: str | None = option(None, help=options.SCHEDULER)


class Shared(TypedDict, total=False):
    """The options of a `Request`, for type checkers."""

    of: str | None
    name: str | None
    level: Level
    sample: int
    seed: int
    workers: int
    scheduler: str | None


LABELS = """
    labels : array (example, layer, head)
        0 is the largest cluster; -1 is noise, -2 a head that does not exist.
"""
