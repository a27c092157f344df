"""Probe heads: what they look at, and what they write. One function per analysis.

>>> import headatlas as ha
>>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://probe.atlas")
>>> table = ha.probe.spectrum(atlas)
>>> table.num_rows  # one row per head and measure
432
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headatlas.stages.probe.analyses import ANALYSES, FUNCTIONS

if TYPE_CHECKING:
    from headatlas.stages.probe.analyses.distances import distances
    from headatlas.stages.probe.analyses.randomness import randomness
    from headatlas.stages.probe.analyses.spectrum import spectrum
    from headatlas.stages.probe.analyses.surface import surface
    from headatlas.stages.probe.analyses.syntax import syntax
    from headatlas.stages.probe.analyses.writes import writes

__all__ = ["ANALYSES", "distances", "randomness", "spectrum", "surface", "syntax", "writes"]


def __getattr__(name: str) -> Any:
    """The function of each analysis."""
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
