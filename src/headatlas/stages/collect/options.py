"""The options of a collection, and what can be checked before a model is loaded or a file is written."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from headatlas import model_names
from headatlas.atlas import header
from headatlas.errors import OptionError

if TYPE_CHECKING:
    from headatlas.data import Dataset
    from headatlas.models.encode import Overlong
    from headatlas.models.load import ModelLike


@dataclass(frozen=True, slots=True)
class Options:
    """Options that change the result of a collection."""

    resolution: int = 32
    max_tokens: int | None = None
    overlong: Overlong = "truncate"
    qk_tokens: int = 20_000
    seed: int = 0
    batch_tokens: int = 2048
    norms: bool = False

    def recipe(self) -> dict[str, Any]:
        """The options as they are recorded; norms only if they are collected, as in atlases from before there were."""
        return {name: value for name, value in asdict(self).items() if name != "norms" or value}


def parse_overlong(word: str) -> Overlong:
    """What to do with longer texts, typed on the command line."""
    if word not in ("truncate", "window"):
        raise OptionError(f"--overlong {word}: choose truncate or window")
    return "window" if word == "window" else "truncate"


def check(
    model: ModelLike, dataset: Dataset, path: str | os.PathLike[str], options: Options | None = None, workers: int = 0
) -> None:
    """Raise an error for a model, options, a place or a dataset that cannot work, before torch is imported."""
    _check_options(options or Options(), workers)
    header.check_place(path)
    dataset.check()
    if isinstance(model, str | os.PathLike):
        model_names.check(os.fspath(model))


def _check_options(options: Options, workers: int) -> None:
    if not 2 <= options.resolution <= 256:
        raise OptionError(f"resolution {options.resolution}: choose a side of the pooled maps between 2 and 256")
    if options.max_tokens is not None and options.max_tokens < 4:
        raise OptionError(f"max_tokens {options.max_tokens}: at least 4 are needed")
    if options.overlong not in ("truncate", "window"):
        raise OptionError(f"overlong {options.overlong!r}: choose truncate or window")
    if options.qk_tokens < 0 or options.batch_tokens < 1:
        raise OptionError("qk_tokens cannot be negative, and batch_tokens must be at least 1")
    if options.seed < 0 or workers < 0:
        raise OptionError("seed and workers cannot be negative")
