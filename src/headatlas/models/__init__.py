"""Load any Hugging Face transformer and read its attention."""

from headatlas.models.encode import Encoded, Tokens
from headatlas.models.full_maps import Attention, Vectors, attention, vectors
from headatlas.models.load import load
from headatlas.models.model import Layer, Model
from headatlas.models.random_weights import permuted, untrained

__all__ = [
    "Attention",
    "Encoded",
    "Layer",
    "Model",
    "Tokens",
    "Vectors",
    "attention",
    "load",
    "permuted",
    "untrained",
    "vectors",
]


def __dir__() -> list[str]:
    return sorted(__all__)
