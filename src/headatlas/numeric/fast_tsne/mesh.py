"""The repulsion of all pairs of n points in time n + m log m: meshes of m nodes, as in particle-mesh Ewald sums.

With the potential φ(y) = Σ 1 / (1 + |y − yⱼ|²), the sum that normalizes Q is Σ φ(yᵢ) − n, and the repulsion of point i
is −½ ∇φ(yᵢ). So a single convolution is enough, where FIt-SNE has four: points are spread on a mesh by splines, the
mesh is convolved with the kernel 1 / (1 + r²) by FFT, and φ and its gradient are read off at the points by the same
splines. The transformed kernel is divided by that of the splines, once for spreading and once for reading.

FFT is periodic, so a kernel that reaches everywhere needs twice as many nodes per axis as there are in the plot. In a
wide plot the kernel is therefore split, with a = 1 + r², into exp(−τ a) / a, which fades within a few units, and
(1 − exp(−τ a)) / a, which is so smooth that a coarse mesh is enough: a quarter of the time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headatlas.numeric.fast_tsne.levels import Level

Array = NDArray[np.float32]

SPACING = 0.35  # distance of neighboring nodes; the kernel is 1 wide. The error goes with its fourth power
COARSE = 5  # times this distance, for the smooth part
WIDE = 64.0  # extent from which on the kernel is split
TAU, REACH = 0.05, 12.0  # the part that fades is less than a thousandth of the kernel beyond this distance


class Mesh:
    """The potential of points in the plane, on one mesh, or on two if they extend far."""

    def __init__(self, spacing: float = SPACING) -> None:
        self.whole = Level(lambda squares: 1 / (1 + squares), spacing)
        self.near = Level(lambda squares: np.exp(-TAU * (1 + squares)) / (1 + squares), spacing, REACH)
        self.far = Level(lambda squares: -np.expm1(-TAU * (1 + squares)) / (1 + squares), COARSE * spacing)

    def potential(self, place: Array, slope: Array) -> float:
        """Fill `slope` with ∇φ at points (2, point); return Σ 1 / (1 + distance²) over all ordered pairs."""
        n: int = place.shape[1]
        low, high = place.min(1), place.max(1)
        if (high - low).max() < WIDE:
            return self.whole.potential(place, low, high, slope) - n
        smooth = np.empty_like(slope)
        total = self.near.potential(place, low, high, slope) + self.far.potential(place, low, high, smooth)
        slope += smooth
        return total - n
