"""Features: every map as a vector, made by an encoder, so that maps can be compared."""

from __future__ import annotations

import json
import pickle
from typing import Any

from headatlas.atlas import engine
from headatlas.atlas.blocks import block_ranges, block_size
from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.errors import OptionError
from headatlas.numeric.threads import single_thread
from headatlas.stages.features.block import EncodeBlock, reads
from headatlas.stages.features.encoders import NAMES, Choice, Encoder, choose
from headatlas.stages.features.sample import Sample

__all__ = ["NAMES", "Encoder", "image"]


def __dir__() -> list[str]:
    return sorted(__all__)


def image(
    atlas: AtlasLike,
    encoder: str | Encoder = "profile",
    *,
    name: str | None = None,
    preprocess: str = "default",
    sample: int = 20_000,
    seed: int = 0,
    batch: int = 256,
    workers: int = 0,
    scheduler: str | None = None,
) -> Any:
    """Turn every map of an atlas into a vector, or continue where an earlier run of the same call stopped.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://cat.atlas")
    >>> ha.features.image(atlas, "stats").shape[:3]
    (2, 6, 12)

    Parameters
    ----------
    atlas : Atlas, str or path
        An atlas with a collection.
    encoder : str or Encoder
        `profile`, `heads`, `maps`, `pooled` or `stats`, a .safetensors file made by `headatlas encoder train`, a
        Hugging Face vision model by hub name or folder, or an `Encoder` object.
    name : str, optional
        Name of the result; by default that of the encoder.
    preprocess : {"default", "capstone"}
        How maps become images for a vision model: scaled per map, or per column.
    sample : int
        Number of maps, approximately, to which `pooled` and `stats` are fitted.
    seed : int
        Random seed.
    batch : int
        Maps encoded at a time.
    workers : int
        Number of processes; 0 uses threads.
    scheduler : str, optional
        Address of a Dask scheduler.

    Returns
    -------
    zarr.Array
        The array (example, layer, head, feature). Index it to read.
    """
    if batch < 1 or sample < 1 or seed < 0 or workers < 0:
        raise OptionError("batch and sample must be at least 1, and seed and workers cannot be negative")
    atlas = Atlas.open(atlas)
    atlas.needed("collect")
    chosen = choose(encoder, preprocess, sample, seed)
    name = name or chosen.name
    with engine.result(atlas, "features", name, _options(chosen, batch)) as result:
        if not result.finished:
            with single_thread("torch"):  # blocks run in parallel instead
                fitted = chosen.make(Sample(atlas, sample, seed))
                _encode(atlas, result, fitted, batch, workers, scheduler)
            result.finish(_facts(fitted), _store(result, fitted))
    return atlas.array("features", name)


def _options(chosen: Choice, batch: int) -> dict[str, Any]:
    """The options that determine the bytes of the result, as they read back from the header."""
    try:
        options: dict[str, Any] = json.loads(json.dumps({"encoder": chosen.recipe, "batch": batch}))
    except (TypeError, ValueError) as error:
        raise OptionError(f"the recipe of the encoder {chosen.name} is not plain JSON: {error}") from error
    return options


def _store(result: engine.Result, encoder: Encoder) -> list[str]:
    """Store what was fitted; returns the files written."""
    from headatlas.stages.features import fitted  # which imports torch

    state = fitted.to_bytes(encoder)
    return [] if state is None else [result.write_file(fitted.FILE, state)]


def _facts(encoder: Encoder) -> dict[str, Any]:
    return {
        "width": encoder.width,
        "encoder": encoder.recipe(),
        "knows_heads": bool(getattr(encoder, "knows_heads", False)),
    }


def _encode(
    atlas: Atlas, result: engine.Result, encoder: Encoder, batch: int, workers: int, scheduler: str | None
) -> None:
    """Encode every block of examples; blocks of features hold the same examples as the blocks of their source."""
    source = atlas.array(reads(encoder)[0])
    block = block_size(source)
    sizes = dict(zip(("example", "layer", "head"), source.shape[:3], strict=True)) | {"feature": encoder.width}
    result.create_array("features", sizes, block, {"encoder": encoder.recipe()})
    work = EncodeBlock(result.place, encoder, block, batch)
    if workers or scheduler is not None:
        _check_pickles(work)
    ranges = block_ranges(sizes["example"], block)
    engine.run_blocks(result, work, ranges, "encoding maps", workers=workers, scheduler=scheduler)


def _check_pickles(work: EncodeBlock) -> None:
    try:
        pickle.dumps(work)
    except Exception as error:  # pickle can raise anything
        raise OptionError(f"this encoder cannot be sent to workers ({error}). Use no workers") from error
