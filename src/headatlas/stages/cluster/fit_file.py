"""A fitted clustering as a file that workers read; no pickles in it, and no times."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.stages.cluster.fit import Fit
from headatlas.stages.cluster.methods import CLASSES
from headatlas.stages.cluster.vectors import Space


def to_bytes(method: str, space: Space, fit: Fit, **known: NDArray[Any]) -> bytes:
    """The axes, the fit of this method, and labels of maps or heads that are known already."""
    file = io.BytesIO()
    arrays = {"method": np.asarray(method), "mean": space.mean, "axes": space.axes, **fit.arrays(), **known}
    np.savez(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def from_bytes(content: bytes) -> tuple[Space, Fit, dict[str, NDArray[Any]]]:
    """The axes, the fit, and what else is in the file."""
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        arrays = dict(file)
    space = Space(arrays.pop("mean"), arrays.pop("axes"))
    fit = CLASSES[str(arrays.pop("method"))].fit_type.from_arrays(arrays)
    return space, fit, {name: array for name, array in arrays.items() if name not in fit.arrays()}
