"""The repulsion of all pairs of n points in time n + m log m: a mesh of m nodes, as in particle-mesh Ewald sums.

With the potential φ(y) = Σ 1 / (1 + |y − yⱼ|²), the sum that normalizes Q is Σ φ(yᵢ) − n, and the repulsion of point i
is −½ ∇φ(yᵢ). So a single convolution is enough, where FIt-SNE has four: points are spread on a mesh by splines, the
mesh is convolved with the kernel 1 / (1 + r²) by FFT, and φ and its gradient are read off at the points by the same
splines. The transformed kernel is divided by that of the splines, once for spreading and once for reading.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from headatlas.numeric.fast_tsne.splines import read, spread

Array = NDArray[np.float32]

SPACING = 0.35  # distance of neighboring nodes; the kernel is 1 wide. The error goes with its fourth power
MOST_NODES = 1024  # per axis: if points extend further, the distance of nodes grows with them
LEAST_NODES = 24
MARGIN = 6  # nodes beyond the outermost points: the reach of the splines, and of dividing by them
SPARE = 1.06  # more nodes than needed, so that the kernel is not transformed in every iteration of growing positions


class Mesh:
    """A square of nodes that follows the extent of points in the plane, and the transformed kernel on it."""

    def __init__(self, spacing: float = SPACING) -> None:
        self.finest = spacing
        self.nodes, self.spacing = 0, 0.0

    def potential(self, place: Array, slope: Array) -> float:
        """Fill `slope` with ∇φ at points (2, point); return Σ 1 / (1 + distance²) over all ordered pairs."""
        n = place.shape[1]
        low, high = place.min(1), place.max(1)
        self._fit(float((high - low).max()))
        origin = (low + high) / 2 - np.float32((self.nodes - 1) / 2 * self.spacing)
        scale = np.float32(1 / self.spacing)
        spread(place, origin, scale, self.mesh)
        total: float = read(place, origin, scale, self._convolved(), slope)
        return float(total + n * (n * self.constant - 1))

    def _fit(self, extent: float) -> None:
        """Choose nodes for points that extend so far; those of the last iteration if they still suit."""
        spacing = max(self.finest, extent / (MOST_NODES / SPARE - MARGIN))
        while spacing * (LEAST_NODES - MARGIN) > 2 * extent and spacing > 1e-6:
            spacing /= 2
        needed = max(LEAST_NODES, int(extent / spacing) + 1 + MARGIN)
        if spacing == self.spacing and self.nodes / SPARE**2 <= needed <= self.nodes:
            return
        self.nodes, self.spacing = fft.next_fast_len(int(SPARE * needed), real=True), spacing
        self.mesh = np.zeros((self.nodes, self.nodes), np.float32)
        self.kernel, self.constant = _transformed_kernel(self.nodes, spacing)

    def _convolved(self) -> Array:
        """The mesh, convolved with the kernel on twice as many nodes; empty rows are not transformed."""
        size = 2 * self.nodes
        waves = fft.fft(fft.rfft(self.mesh, size, axis=1), size, axis=0, overwrite_x=True)
        waves *= self.kernel
        waves = fft.ifft(waves, axis=0, overwrite_x=True)[: self.nodes]
        convolved: Array = fft.irfft(waves, size, axis=1)
        return convolved


def _transformed_kernel(nodes: int, spacing: float) -> tuple[Array, float]:
    """The kernel less a constant, transformed and divided by that of the splines; and the constant.

    Points that lie close together see the top of the kernel only, whose differences are lost in single precision unless
    most of it is taken off. It is even along every axis, so that cosines of half of the nodes are enough.
    """
    squares = (np.arange(nodes + 1) * spacing) ** 2
    splines = ((2 + np.cos(np.pi * np.arange(nodes + 1) / nodes)) / 3) ** 2
    constant = 1 / (1 + (nodes * spacing / 2) ** 2)
    kernel = 1 / (1 + squares[:, None] + squares) - constant
    waves = fft.dctn(kernel.astype(np.float32), type=1) / (splines[:, None] * splines)
    waves = np.concatenate([waves, waves[-2:0:-1]])  # the other axis is that of `rfft`, which has half of the waves
    return np.ascontiguousarray(waves, np.float32), constant
