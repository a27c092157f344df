"""From options to a finished comparison in the first atlas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headatlas import progress
from headatlas.atlas import engine
from headatlas.atlas.store import AtlasLike
from headatlas.compare import checks
from headatlas.compare.compared import Compared, open_collections, result_name, same_heads
from headatlas.compare.matching import By
from headatlas.compare.space import Given, Names, choose_space
from headatlas.errors import OptionError
from headatlas.options import either
from headatlas.wording.compare import without_patterns

if TYPE_CHECKING:
    import pyarrow as pa

MATCH: tuple[By, ...] = ("place", "function")


def models(
    atlas: AtlasLike,
    *others: AtlasLike,
    noise: Sequence[AtlasLike] = (),
    name: str | None = None,
    steps: Sequence[str] | None = None,
    match: str | None = None,
    of: str | None = None,
    encoder: Given = None,
    examples: int = 32,
    seed: int = 0,
) -> pa.Table:
    """Compare two models on the same data, or a series of checkpoints with the first one.

    >>> import headatlas as ha
    >>> texts = ha.data.load("sample", limit=4)
    >>> before = ha.collect.maps("packaged", texts, "memory://before.atlas", resolution=8)
    >>> other = ha.models.permuted("packaged", seed=1)
    >>> after = ha.collect.maps(other, texts, "memory://after.atlas", resolution=8)
    >>> table = ha.compare.models(before, after)
    >>> table.num_rows, max(table["shift"].to_pylist()) > 0.1
    (72, True)

    The result is written into the first atlas, with everything that is needed to show it. After a stop, the same call
    continues.

    Parameters
    ----------
    atlas : Atlas, str or path
        The first model: before fine-tuning, or the first checkpoint.
    *others : Atlas, str or path
        The other model, or checkpoints in their order, collected on the same data with the same resolution.
    noise : sequence of Atlas, str or path
        Other seeds of the last model: what a change of seed alone gives.
    name : str, optional
        Name of the result; by default made from the names of the others.
    steps : sequence of str, optional
        A label for the first atlas and each of the others; by default their names.
    match : {"place", "function"}, optional
        Whether a head is compared with the head at its place, the default for models of one shape, or with the one
        that does most nearly the same, which needs features in the first atlas.
    of : str, optional
        The clustering of the first atlas whose patterns are looked for; the latest if not given.
    encoder : str, path or Encoder, optional
        The encoder of the features, if it is a trained file, a vision model or an object.
    examples : int
        Examples, drawn with `seed`, whose maps are kept for looking.
    seed : int
        Random seed.

    Returns
    -------
    pyarrow.Table
        The table `compare_heads`: one row per step and head.
    """
    _check(examples, seed, match)
    compared = open_collections(atlas, others, noise, steps)
    checks.check_settings(compared)
    by = _choose_match(compared, match)
    first = compared.first.atlas
    names = choose_space(first, of, encoder, needed=by == "function")
    name = name or result_name(compared)
    options = {"match": by, "examples": examples, "seed": seed}
    with engine.result(first, "compare", name, options, inputs=_inputs(compared, names)) as result:
        if not result.finished:
            from headatlas.compare.run import Comparison  # which imports torch

            if names.without:
                progress.say(without_patterns(names.without))
            Comparison(result, compared, names, by, options).run(encoder)
    return first.table("compare_heads", name)


def _check(examples: int, seed: int, match: str | None) -> None:
    if examples < 1 or seed < 0:
        raise OptionError("at least 1 example is needed, and the seed cannot be negative")
    if match not in (None, *MATCH):
        raise OptionError(f"--match {match}: choose {either(MATCH)}")


def _choose_match(compared: Compared, match: str | None) -> By:
    different = [step for step in compared.steps if not same_heads(compared.first, step)]
    if match == "place" and different:
        raise OptionError(
            f"--match place: {compared.first.name} and {different[0].name} do not have the same heads. "
            "Omit it, or use --match function"
        )
    return "function" if different or match == "function" else "place"


def _inputs(compared: Compared, names: Names) -> dict[str, Any]:
    inputs: dict[str, Any] = {"models": [each.identity for each in compared]}
    if names.features is not None:
        inputs["features"] = names.features
    if names.clustering is not None:
        inputs["cluster"] = names.clustering
    return inputs
