"""Null models beside the real one: which patterns are there without what was learned, or without word order?"""

from headatlas.null.stage import references
from headatlas.null.summary import summary

__all__ = ["references", "summary"]


def __dir__() -> list[str]:
    return sorted(__all__)
