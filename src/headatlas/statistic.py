"""What is said of a statistic of an attention map where it is declared, in `statistics` and `optional_statistics`."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

from headatlas.phrases import Naming
from headatlas.sources import Combined, RowMean, Source

Modality = Literal["text", "image"]
MASS = "share of attention"  # unit of most statistics
UNRANKED = 99
# where attention goes, what it goes to, how it is spread; from span to span; what it moves
About = Literal["position", "tokens", "shape", "spans", "norms"]


@dataclass(frozen=True, slots=True)
class Statistic:
    """A statistic of a map.

    A name has only the most distinctive phrase of a `group`, since their statistics overlap; of two that fit equally
    well it has the one of lower `rank`. A statistic with a phrase for low values (`low`) describes how attention is
    spread; one with a phrase for high values only is the mass on some kind of token. Neither is named after a
    difference of means smaller than `least`, however consistent it is.
    """

    name: str
    label: str
    definition: str
    source: Source
    _: KW_ONLY
    short: str  # the label where it is known to be about attention
    group: str
    about: About
    unit: str = MASS
    remark: str = ""  # on its values
    modalities: tuple[Modality, ...] = ("text",)
    square_only: bool = False  # undefined where queries and keys are different tokens
    only: Literal["", "spans", "norms"] = (
        ""  # what must be there for it; such statistics are the last, and no features of a map
    )
    high: Naming | None = None
    low: Naming | None = None
    rank: int = UNRANKED
    least: float = 0.05  # the smallest difference of means that matters, in its unit

    @property
    def unit_text(self) -> str:
        """The unit with what there is to remark: tokens; below 0 looks back."""
        return "; ".join(filter(None, [self.unit, self.remark]))

    @property
    def grows(self) -> bool:
        """Whether it grows with the length of a text, whatever the head does."""
        return self.unit == "nats" or (isinstance(self.source, RowMean) and self.source.length == "tokens")

    def comparative(self, higher: bool) -> str:
        """How a cluster differs from another of the same name in which it is lower or higher; empty: no words for it.

        >>> from headatlas.statistics import statistic
        >>> statistic("self").comparative(True), statistic("entropy_relative").comparative(False)
        ('more on the token itself', 'sharper')
        """
        if self.low is not None:
            naming = self.high if higher else self.low
            return naming.comparative if naming is not None else ""
        return f"{'more' if higher else 'less'} on {self.high.target}" if self.high is not None else ""

    @property
    def parts(self) -> tuple[str, ...]:
        """The stored statistics whose sum measures it in a sentence: itself, or those it is combined from."""
        return self.source.plus if isinstance(self.source, Combined) else (self.name,)


BOTH: tuple[Modality, ...] = ("text", "image")
