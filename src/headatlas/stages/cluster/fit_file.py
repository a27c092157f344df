"""A fitted clustering as a file that workers read; no pickles in it, and no times."""

from __future__ import annotations

import io
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.numeric.pca import PrincipalAxes
from headatlas.stages.cluster.fit import Fit
from headatlas.stages.cluster.methods import CLASSES


def to_bytes(method: str, space: PrincipalAxes, fit: Fit, **known: NDArray[Any]) -> bytes:
    """The axes, the fit of this method, and labels of maps or heads that are known already."""
    file = io.BytesIO()
    arrays = {"method": np.asarray(method), **vars(space), **fit.arrays(), **known}
    np.savez(file, **arrays)
    return file.getvalue()


def from_bytes(content: bytes) -> tuple[PrincipalAxes, Fit, dict[str, NDArray[Any]]]:
    """The axes, the fit, and what else is in the file."""
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        arrays = dict(file)
    space = PrincipalAxes(*(arrays.pop(field.name) for field in fields(PrincipalAxes)))
    fit = CLASSES[str(arrays.pop("method"))].fit_type.from_arrays(arrays)
    return space, fit, {name: array for name, array in arrays.items() if name not in fit.arrays()}
