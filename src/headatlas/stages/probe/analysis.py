"""What an analysis is: declared options, a table for each block of examples, and the tables that these add up to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict

from headatlas import options
from headatlas.options import Option, option

if TYPE_CHECKING:
    import pyarrow as pa

    from headatlas.atlas.store import Atlas
    from headatlas.stages.probe.source import Source

Results = tuple[Mapping[str, "pa.Table"], Mapping[str, Any]]  # tables, and the facts recorded with the result


@dataclass(frozen=True, kw_only=True)
class Analysis(ABC):
    """A question to ask of every head. The fields that are declared with `option` are its options.

    `part` sees the examples of one block, in any thread; a run that was stopped continues with the blocks that are
    missing. `join` gets the rows of all parts, in the order of the examples.
    """

    name: ClassVar[str]
    question: ClassVar[str]  # what it answers, in plain words
    table: ClassVar[str]  # the table that its function returns
    block: ClassVar[int] = 8  # examples per block; 0: all at once

    examples: int = option(200, help="Examples, drawn with the seed; all if there are no more.", least=1)
    seed: int = option(0, help=options.SEED, least=0)

    def missing(self, atlas: Atlas) -> str | None:
        """What the data or the model lack for this analysis, and what to do; None if it can be run."""
        return None

    @abstractmethod
    def part(self, source: Source, numbers: list[int]) -> pa.Table:
        """Rows for the examples with these numbers; the schema is the same for all blocks."""

    @abstractmethod
    def join(self, source: Source, rows: pa.Table) -> Results:
        """The tables of the result by their declared names, and its facts."""

    @classmethod
    def options(cls) -> tuple[Option, ...]:
        """Every option of the public function: those of the analysis first."""
        return options.combined(cls, Analysis)


ATLAS = "An atlas."
MODEL = ("model", "Model, str or path, optional", "The model of the atlas, where it is not found by its recorded name.")
MEASURES = """
    pyarrow.Table
        One row per head and measure: the mean over texts, its 95% interval, and the number of texts.
"""


class Shared(TypedDict, total=False):
    """The options of every analysis, for type checkers."""

    examples: int
    seed: int
