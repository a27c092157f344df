"""How strongly what one matrix writes is read by another, by their low-rank factors, against random rotations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Strength(NamedTuple):
    """Scores (writer, reader) from 0 to 1, what random rotations give, and standard deviations above that."""

    score: Floats
    baseline: float
    z: Floats


def triangle(factor: Floats) -> Floats:
    """R of the QR decomposition of factors (…, hidden, feature): R has all norms that the factor has.

    >>> matrix = np.arange(6.0).reshape(3, 2)
    >>> bool(np.allclose(triangle(matrix).T @ triangle(matrix), matrix.T @ matrix))
    True
    """
    upper: Floats = np.asarray(np.linalg.qr(factor, mode="r"))
    return upper


def strength(writes: Floats, reads: Floats) -> Strength:
    """‖W R‖ / (‖W‖ ‖R‖) for all W of writes (writer, feature, hidden) and R of reads (reader, hidden, feature).

    If one of both is rotated at random in the space of the residual stream, the mean of the squared score is exactly
    1 / hidden, and its variance follows from the singular values of both; `z` is that of the squared score.

    >>> plane = np.eye(8)[None, :2]  # writes what it reads
    >>> scores = strength(plane, plane.transpose(0, 2, 1))
    >>> round(float(scores.score[0, 0]) ** 2, 3), round(scores.baseline ** 2, 3)
    (0.5, 0.125)
    """
    writers, width, hidden = writes.shape
    readers, _, read_width = reads.shape
    products = writes.reshape(-1, hidden) @ reads.transpose(1, 0, 2).reshape(hidden, -1)
    squares = np.square(products).reshape(writers, width, readers, read_width).sum((1, 3))
    shares = [_squares(writes), _squares(reads.transpose(0, 2, 1))]  # of both, by singular value, summing to 1
    squared = squares / np.outer(*(total for total, _ in shares))
    variances = np.outer(*(np.square(share).sum(-1) - 1 / hidden for _, share in shares))
    deviation = np.sqrt(2 / ((hidden - 1) * (hidden + 2)) * variances)
    return Strength(np.sqrt(squared), hidden**-0.5, (squared - 1 / hidden) / deviation)


def _squares(matrices: Floats) -> tuple[Floats, Floats]:
    """Squared norms of matrices (…, feature, hidden), and the share of each squared singular value."""
    values = np.linalg.eigvalsh(matrices @ matrices.swapaxes(-1, -2)).clip(0)
    totals = values.sum(-1).clip(np.finfo(float).tiny)
    return totals, values / totals[..., None]
