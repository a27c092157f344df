"""What an analysis is: declared options, a table for each block of examples, and the tables that these add up to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypedDict

from headatlas import options
from headatlas.options import Option, option

if TYPE_CHECKING:
    import pyarrow as pa

    from headatlas.atlas.store import Atlas
    from headatlas.stages.probe.source import Source

Panel = Literal["measures", "roles", "rows", "relations", "distances", "hidden"]
Rows = Iterable[Mapping[str, Any]]
Results = tuple[Mapping[str, "pa.Table"], Mapping[str, Any]]  # tables, and the facts recorded with the result


@dataclass(frozen=True)
class Telling:
    """A sentence about a head whose effect is not chance, by its interval or a test.

    `effect` is a share above that of chance, of attention or of cases: these can be compared between analyses.
    """

    effect: float
    sentence: str


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
    panels: ClassVar[Mapping[str, Panel]] = {}  # how the page shows its tables; those not named are shown as rows

    examples: int = option(200, help="Examples, drawn with the seed; all if there are no more.", least=1)
    seed: int = option(0, help=options.SEED, least=0)

    def missing(self, atlas: Atlas) -> str | None:
        """What the data or the model lack for this analysis, and what to do; None if it can be run."""
        return None

    def inputs(self, atlas: Atlas) -> Mapping[str, Any]:
        """What the result is made from besides the atlas, as values that change if it does, by name."""
        return {}

    def numbers(self, atlas: Atlas) -> list[int]:
        """The numbers of the examples to look at."""
        from headatlas.stages.probe.source import drawn_examples

        return drawn_examples(atlas, self.examples, self.seed)

    @abstractmethod
    def part(self, source: Source, numbers: list[int]) -> pa.Table:
        """Rows for the examples with these numbers; the schema is the same for all blocks."""

    @abstractmethod
    def join(self, source: Source, rows: pa.Table) -> Results:
        """The tables of the result by their declared names, and its facts."""

    def join_parts(self, source: Source, tables: Iterable[pa.Table]) -> Results:
        """As `join`, from the tables of all parts; for an analysis whose parts do not fit in memory together."""
        from headatlas.atlas.parts import whole

        return self.join(source, whole(tables))

    def findings(self, atlas: Atlas) -> list[str]:
        """What its finished result says about the model, in a few sentences; none: the table speaks for itself."""
        return []

    def of_head(self, atlas: Atlas, layer: int, head: int) -> list[str]:
        """What its finished result says about one head."""
        return []

    def telling(self, atlas: Atlas, layer: int, head: int) -> list[Telling]:
        """The sentences about one head that may stand first, with their effects."""
        return []

    @classmethod
    def options(cls) -> tuple[Option, ...]:
        """Every option of the public function: those of the analysis first."""
        shared = {option.name for option in options.declared(Analysis)}
        return tuple(sorted(options.declared(cls), key=lambda option: option.name in shared))


@dataclass(frozen=True)
class Measure:
    """A number that an analysis gives for every map, and the mean of which it reports for every head."""

    name: str
    label: str
    definition: str
    unit: str = ""
    share: bool = False  # written in percent


@dataclass(frozen=True, kw_only=True)
class MapAnalysis(Analysis):
    """An analysis that gives some numbers for every map; its table has their means over texts, for every head."""

    measures: ClassVar[tuple[Measure, ...]]
    told: ClassVar[tuple[str, ...]] = ()  # measures that its findings mention; none: the first three

    examples: int = option(64, help="Examples, drawn with the seed; all if there are no more.", least=1)

    @abstractmethod
    def rows(self, source: Source, numbers: list[int]) -> Rows:
        """For every map `example`, `layer`, `head` and its measures; those that are missing are unknown."""

    def part(self, source: Source, numbers: list[int]) -> pa.Table:
        """One row per map."""
        from headatlas.stages.probe.measures import part_table

        return part_table(self.rows(source, numbers), self.measures)

    def join(self, source: Source, rows: pa.Table) -> Results:
        """Means over texts."""
        from headatlas.stages.probe.measures import head_means

        return {self.table: head_means(source, rows, self.measures)}, {}

    def findings(self, atlas: Atlas) -> list[str]:
        """For some measures the heads where they are highest and lowest."""
        from headatlas.stages.probe.said import measure_findings

        return measure_findings(atlas, self)

    def of_head(self, atlas: Atlas, layer: int, head: int) -> list[str]:
        """Each measure of a head, and where it stands among all heads."""
        from headatlas.stages.probe.said import measures_of_head

        return measures_of_head(atlas, self, layer, head)

    def measure(self, name: str) -> Measure:
        """The declaration of a measure in its table."""
        return next((measure for measure in self.measures if measure.name == name), Measure(name, name, ""))


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
