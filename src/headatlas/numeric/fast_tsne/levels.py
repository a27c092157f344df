"""A mesh of nodes that follows the extent of points in the plane, and a kernel transformed on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from headatlas.numeric.fast_tsne.splines import read, spread

Array = NDArray[np.float32]
Kernel = Callable[[NDArray[Any]], NDArray[Any]]  # of squared distances

MOST_NODES = 1024  # per axis: if points extend further, the distance of nodes grows with them
LEAST_NODES = 24
MARGIN = 6  # nodes beyond the outermost points: the reach of the splines, and of dividing by them
SPARE = 1.06  # more nodes than needed, so that the kernel is not transformed in every iteration of growing positions


class Level:
    """The sum over all points of a kernel of their distance, and its gradient, at the points."""

    def __init__(self, kernel: Kernel, spacing: float, reach: float = np.inf) -> None:
        """A kernel that is negligible beyond its `reach` needs no more empty nodes around the points than that."""
        self.kernel, self.finest, self.reach = kernel, spacing, reach
        self.nodes, self.spacing = 0, 0.0

    def potential(self, place: Array, low: Array, high: Array, slope: Array) -> float:
        """Fill `slope` with the gradient at points (2, point) between two corners; return the sum over all points."""
        self._fit(float((high - low).max()))
        origin = (low + high) / 2 - np.float32((self.nodes - 1) / 2 * self.spacing)
        scale = np.float32(1 / self.spacing)
        spread(place, origin, scale, self.mesh)
        total: float = read(place, origin, scale, self._convolved(), slope)
        return float(total + place.shape[1] ** 2 * self.constant)

    def _fit(self, extent: float) -> None:
        """Choose nodes for points that extend so far; those of the last iteration if they still suit."""
        spacing = max(self.finest, extent / (MOST_NODES / SPARE - MARGIN))
        while spacing * (LEAST_NODES - MARGIN) > 2 * extent and spacing > 1e-6:
            spacing /= 2
        needed = max(LEAST_NODES, int(extent / spacing) + 1 + MARGIN)
        if spacing == self.spacing and self.nodes / SPARE**2 <= needed <= self.nodes:
            return
        self.nodes, self.spacing = fft.next_fast_len(int(SPARE * needed), real=True), spacing
        self.size = 2 * fft.next_fast_len(int(self.nodes + min(self.nodes, self.reach / spacing) + 1) // 2, real=True)
        self.mesh = np.zeros((self.nodes, self.nodes), np.float32)
        self._transform()

    def _transform(self) -> None:
        """The kernel less a constant, transformed and divided by the transformed splines.

        Points that lie close together see the top of the kernel only, whose differences are lost in single precision
        unless most of it is taken off. It is even along every axis, so that cosines of half of the nodes are enough.
        """
        half = self.size // 2
        squares = (np.arange(half + 1) * self.spacing) ** 2
        splines = ((2 + np.cos(np.pi * np.arange(half + 1) / half)) / 3) ** 2
        self.constant = float(self.kernel(np.array((half * self.spacing / 2) ** 2)))
        kernel = self.kernel(squares[:, None] + squares) - self.constant
        waves = fft.dctn(kernel.astype(np.float32), type=1) / (splines[:, None] * splines)
        waves = np.concatenate([waves, waves[-2:0:-1]])  # the other axis is that of `rfft`, which has half of the waves
        self.waves = np.ascontiguousarray(waves, np.float32)

    def _convolved(self) -> Array:
        """The mesh, convolved with the kernel on a larger one; empty rows are not transformed."""
        waves = fft.fft(fft.rfft(self.mesh, self.size, axis=1), self.size, axis=0, overwrite_x=True)
        waves *= self.waves
        waves = fft.ifft(waves, axis=0, overwrite_x=True)[: self.nodes]
        convolved: Array = fft.irfft(waves, self.size, axis=1)
        return convolved
