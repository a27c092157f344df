"""Analyses of heads, one file each: the folder is the registry.

A file defines a class with the options (`Analysis`) and a public function of the analysis's name. Nothing else lists
the analyses: the command line, `probe all`, tests and docs read `ANALYSES` and `FUNCTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headatlas import registry
from headatlas.stages.probe.analysis import Analysis

if TYPE_CHECKING:
    import pyarrow as pa

_analyses = registry.methods(__name__, Analysis, first="surface")
ANALYSES: dict[str, type[Analysis]] = {name: analysis for name, (analysis, _) in _analyses.items()}
FUNCTIONS: dict[str, Callable[..., pa.Table]] = {name: function for name, (_, function) in _analyses.items()}
