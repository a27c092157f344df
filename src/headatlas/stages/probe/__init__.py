"""Probe heads: what they look at, and what they write. One function per analysis.

>>> import headatlas as ha
>>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://probe.atlas")
>>> table = ha.probe.spectrum(atlas)
>>> table.num_rows  # one row per head and measure
432
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from headatlas.stages.probe.analyses import ANALYSES, FUNCTIONS

if TYPE_CHECKING:
    from headatlas.stages.probe.analyses.classifiers import classifiers
    from headatlas.stages.probe.analyses.compose import compose
    from headatlas.stages.probe.analyses.coref import coref
    from headatlas.stages.probe.analyses.detect import detect
    from headatlas.stages.probe.analyses.distances import distances
    from headatlas.stages.probe.analyses.gradients import gradients
    from headatlas.stages.probe.analyses.parking import parking
    from headatlas.stages.probe.analyses.randomness import randomness
    from headatlas.stages.probe.analyses.spectrum import spectrum
    from headatlas.stages.probe.analyses.surface import surface
    from headatlas.stages.probe.analyses.syntax import syntax
    from headatlas.stages.probe.analyses.tokens import tokens
    from headatlas.stages.probe.analyses.writes import writes
    from headatlas.stages.probe.head_search import search
    from headatlas.stages.probe.roles import heads_json

__all__ = [
    "ANALYSES",
    "classifiers",
    "compose",
    "coref",
    "detect",
    "distances",
    "gradients",
    "heads_json",
    "parking",
    "randomness",
    "search",
    "spectrum",
    "surface",
    "syntax",
    "tokens",
    "writes",
]
OTHERS = {"heads_json": "roles", "search": "head_search"}  # functions that are no analysis, and their module


def __getattr__(name: str) -> Any:
    """The function of each analysis, and the other functions of the stage."""
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    if name in OTHERS:
        return getattr(import_module(f"{__name__}.{OTHERS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
