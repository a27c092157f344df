"""The encoder of a result, to encode other maps with it: what was fitted to the atlas is stored with the result."""

from __future__ import annotations

import io
import json
import os
from typing import Any

import numpy as np

from headatlas.atlas.store import Atlas
from headatlas.errors import OptionError
from headatlas.stages.features.baselines import PooledEncoder, StatsEncoder
from headatlas.stages.features.encoders import NAMES, Encoder, choose
from headatlas.stages.features.sample import Sample

FILE = "encoder.npz"
FITTED: dict[str, type[PooledEncoder] | type[StatsEncoder]] = {
    encoder.name: encoder for encoder in (PooledEncoder, StatsEncoder)
}


def to_bytes(encoder: Encoder) -> bytes | None:
    """What was fitted, as a file without pickles and times; None for an encoder that is not fitted to an atlas."""
    if not isinstance(encoder, PooledEncoder | StatsEncoder):
        return None
    file = io.BytesIO()
    np.savez(file, **encoder.arrays())
    return file.getvalue()


def load_encoder(
    atlas: Atlas, of: str | None = None, given: str | os.PathLike[str] | Encoder | None = None
) -> Encoder:  # fmt: skip
    """The encoder that made a result, as it was fitted.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://fitted.atlas")
    >>> vectors = ha.features.image(atlas, "stats")
    >>> load_encoder(atlas).width == vectors.shape[-1]
    True

    Parameters
    ----------
    atlas : Atlas
        An atlas with features.
    of : str, optional
        The name of the features; the latest if not given.
    given : str, path or Encoder, optional
        The encoder itself, for features of a trained file, a vision model or an object, which are not stored.

    Returns
    -------
    Encoder
    """
    of = atlas.needed("features", of)
    recipe = atlas.facts("features", of).get("encoder", {})
    name = recipe.get("encoder", "another encoder")
    if name in FITTED and given in (None, name):
        return _read(atlas, of, recipe) or _refit(atlas, recipe)
    if given is None and (what := not_stored(atlas, of)) is not None:
        raise OptionError(f"features {of} were made by {what}, which is not stored in the atlas. Give it as encoder")
    chosen = choose(given or name, recipe.get("preprocess", "default"), 1, 0)
    if json.loads(json.dumps(chosen.recipe)) != recipe:
        raise OptionError(f"{chosen.name} is not the encoder that features {of} were made by. Give that one as encoder")
    return chosen.make(Sample(atlas, 1, 0))


def not_stored(atlas: Atlas, of: str) -> str | None:
    """The encoder that made a result, if it is neither stored nor part of this package; None if it can be restored."""
    recipe = atlas.facts("features", of).get("encoder", {})
    name: str = recipe.get("encoder", "another encoder")
    return None if name in FITTED or name in NAMES else recipe.get("model", name)


def _read(atlas: Atlas, of: str, recipe: dict[str, Any]) -> Encoder | None:
    """The stored encoder; None in an atlas that was made before encoders were stored."""
    content = atlas.file("features", FILE, of)
    if content is None:
        return None
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return FITTED[recipe["encoder"]].from_arrays(dict(arrays), recipe)


def _refit(atlas: Atlas, recipe: dict[str, Any]) -> Encoder:
    """The same fit again: its sample depends on nothing but the recipe and the collection."""
    size, seed = recipe["sample"], recipe["seed"]
    return NAMES[recipe["encoder"]].choose(size, seed).make(Sample(atlas, size, seed))
