"""Padded tensors for one forward pass."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.data import pictures
from headatlas.errors import DataError
from headatlas.models.encode import Encoded
from headatlas.models.model import Kind, Model


@dataclass(frozen=True, slots=True)
class Batch:
    """Inputs of a forward pass, and the number of tokens of each example without padding."""

    inputs: dict[str, Tensor]
    lengths: list[int]
    target_lengths: list[int]

    def extent(self, number: int, kind: Kind) -> tuple[int, int]:
        """Number of queries and keys of example `number`, without padding, in a layer of this kind."""
        queries = self.lengths if kind == "encoder" or not self.target_lengths else self.target_lengths
        keys = self.target_lengths if kind == "decoder" and self.target_lengths else self.lengths
        return queries[number], keys[number]


def text_batch(model: Model, examples: Sequence[Encoded]) -> Batch:
    """Token ids padded on the right, with their mask."""
    sources = [example.source for example in examples]
    inputs = _padded(model, "", [tokens.ids for tokens in sources])
    if "token_type_ids" in model.tokenizer.model_input_names and takes_types(model.network):
        inputs["token_type_ids"] = _pad([tokens.segment for tokens in sources], 0)
    targets = [example.target for example in examples if example.target is not None]
    if targets:
        inputs |= _padded(model, "decoder_", [tokens.ids for tokens in targets])
    return Batch(inputs, [len(tokens) for tokens in sources], [len(tokens) for tokens in targets])


def image_batch(model: Model, paths: Sequence[str]) -> Batch:
    """Pixels of image files, prepared by the model's image processor."""
    grid = model.grid
    assert grid is not None  # set for every model that reads images
    pixels = torch.stack([_pixels(model, path) for path in paths])
    return Batch({"pixel_values": pixels}, [len(grid.special) + grid.rows * grid.columns] * len(paths), [])


def pad_token(config: Any, tokenizer: Any = None) -> int:
    """The padding token: that of the network, which some use to count positions; else that of the tokenizer, or 0."""
    text = config.get_text_config()
    candidates = (getattr(source, "pad_token_id", None) for source in (text, tokenizer))
    size = getattr(text, "vocab_size", 1)
    return next((int(token) for token in candidates if token is not None and 0 <= token < size), 0)


def takes_types(network: torch.nn.Module) -> bool:
    """Whether the network takes segments; some come with the tokenizer of a family that does, but do not."""
    return "token_type_ids" in inspect.signature(network.forward).parameters


def _padded(model: Model, prefix: str, rows: Sequence[NDArray[np.int32]]) -> dict[str, Tensor]:
    ids = _pad(rows, pad_token(model.network.config, model.tokenizer))
    mask = torch.arange(ids.shape[1])[None] < torch.tensor([len(row) for row in rows])[:, None]
    return {f"{prefix}input_ids": ids, f"{prefix}attention_mask": mask.long()}


def _pad(rows: Sequence[NDArray[np.int32] | NDArray[np.int8]], fill: int) -> Tensor:
    padded = torch.full((len(rows), max(map(len, rows))), fill, dtype=torch.long)
    for number, row in enumerate(rows):
        padded[number, : len(row)] = torch.from_numpy(row.astype(np.int64))
    return padded


def _pixels(model: Model, path: str) -> Tensor:
    try:
        picture = pictures.read(path)
    except Exception as error:  # PIL raises different errors for each format
        raise DataError(f"the image {path} cannot be used: {pictures.fault(path) or error}") from error
    pixels: Tensor = model.processor(images=picture, return_tensors="pt")["pixel_values"][0]
    return pixels
