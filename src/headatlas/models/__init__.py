"""Load any Hugging Face transformer and see its attention."""

from headatlas.models.encode import Encoded, Tokens
from headatlas.models.facts import Layer, Model
from headatlas.models.load import load
from headatlas.models.look import Attention, Vectors, attention, vectors

__all__ = ["Attention", "Encoded", "Layer", "Model", "Tokens", "Vectors", "attention", "load", "vectors"]
