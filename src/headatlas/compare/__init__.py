"""Two models on the same data, or a series of checkpoints: which heads changed, in what, and more than seeds do?"""

from headatlas.compare.findings import findings, series_findings, summary
from headatlas.compare.stage import models

__all__ = ["findings", "models", "series_findings", "summary"]


def __dir__() -> list[str]:
    return sorted(__all__)
