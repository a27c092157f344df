"""Save a network as from_pretrained loads it, and errors of the disk in one line."""

from __future__ import annotations

import errno
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from headatlas.errors import ModelError, StoreError
from headatlas.models.task_networks import TaskNetwork
from headatlas.stages.finetune.adapters import merged

# what torch and safetensors say when a file cannot be written
UNWRITTEN = (
    "No space left",
    "PytorchStreamWriter failed",
    "file write failed",
    "File too large",
    "os error 28",
    "os error 27",
)


def save(model: TaskNetwork, network: Any, path: Path) -> None:
    """Write a network and its tokenizer so that from_pretrained loads them."""
    path.mkdir(parents=True, exist_ok=True)
    merged(network).save_pretrained(path)
    backend = model.tokenizer.backend_tokenizer
    backend.no_truncation()  # what the last call asked for would be saved
    backend.no_padding()
    model.tokenizer.save_pretrained(path)


@contextmanager
def guard() -> Iterator[None]:
    """One line for a device without memory; errors of torch and safetensors with files become those of the system."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise ModelError("the device has too little memory. Use a smaller --batch or --max-tokens") from error
    except pickle.UnpicklingError as error:  # loaded with weights_only: code in it is refused
        raise StoreError(
            "the checkpoint holds more than weights and is not loaded. Delete it, and train again"
        ) from error
    except Exception as error:
        if isinstance(error, OSError) or not any(part in str(error) for part in UNWRITTEN):
            raise
        raise OSError(errno.ENOSPC, str(error)) from error
