"""How many neighbors a point has; apart from the rest, which imports numba."""

PERPLEXITY = 30.0


def perplexity_for(points: int, perplexity: float = PERPLEXITY) -> float:
    """The perplexity for so many points: as given, or a third of the other points if they are few.

    >>> perplexity_for(10_000), perplexity_for(13)
    (30.0, 4.0)
    """
    return min(float(perplexity), (points - 1) / 3)
