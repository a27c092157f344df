"""t-SNE of the queries and keys of one head."""

from __future__ import annotations

from headatlas.numeric.fast_tsne.perplexity import PERPLEXITY
from headatlas.stages.qk.transform import Vectors

FEWEST = 8  # points; fewer have no neighborhoods


def tsne(vectors: Vectors, dims: int, seed: int, perplexity: float = PERPLEXITY) -> tuple[Vectors, float]:
    """Positions (point, axis) of vectors (point, feature), and the KL divergence; less perplexity with few points."""
    from headatlas.numeric.fast_tsne.embed import embed  # which imports numba

    return embed(vectors, dims, perplexity, seed)
