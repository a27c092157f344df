"""The whole pipeline: what `headatlas run` and `headatlas demo` do, usable from Python.

>>> import headatlas as ha
>>> atlas = ha.pipeline.run("packaged", ha.data.load("sample", limit=4), "memory://all.atlas", permutations=19)
>>> atlas.done
['collect', 'features', 'cluster', 'project', 'correlate']
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from headatlas import data as readers
from headatlas import progress
from headatlas.atlas import engine
from headatlas.atlas.sampled_maps import existing_heads
from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.errors import DataError, ModelError, OptionError
from headatlas.stages.cluster.methods import DEFAULT as METHOD
from headatlas.stages.features.encoders import DEFAULT as ENCODER
from headatlas.stages.features.encoders import choose, is_vision
from headatlas.stages.project.methods import AUTO, TSNE_MAPS, by_size
from headatlas.wording import method_name

if TYPE_CHECKING:
    from headatlas.data import Dataset
    from headatlas.models.encode import Overlong
    from headatlas.models.load import ModelLike

__all__ = ["analyze", "run"]


def __dir__() -> list[str]:
    return sorted(__all__)


def run(
    model: ModelLike,
    dataset: Dataset | str | os.PathLike[str] | Iterable[Any],
    path: str | os.PathLike[str],
    *,
    max_tokens: int | None = None,
    overlong: Overlong = "truncate",
    qk_tokens: int = 20_000,
    norms: bool = False,
    encoder: str = ENCODER,
    methods: Sequence[str] = (METHOD,),
    projection: str = AUTO,
    permutations: int = 999,
    null: bool = False,
    probes: Sequence[str] = (),
    seed: int = 0,
    workers: int = 0,
    scheduler: str | None = None,
) -> Atlas:
    """Collect a dataset with a model, then run every stage on the atlas; or continue where a run was stopped.

    >>> import headatlas as ha
    >>> atlas = ha.pipeline.run("packaged", ["The cat sat.", "It slept, then it ate."], "memory://cats.atlas")
    >>> atlas.latest("cluster")
    'tree'

    Parameters
    ----------
    model, dataset, path, max_tokens, overlong, qk_tokens, norms
        As `collect.maps` takes them.
    encoder
        As `features.image` takes it.
    methods
        Names of clustering methods; the first becomes the latest result, which is used when none is named.
    projection
        Name of a projection, or `auto`: t-SNE for 100 to 200,000 maps, else PCA.
    permutations
        As `correlate.clusters` takes them.
    null
        Whether to count the patterns in maps of null models, too; left out with a message if the model does not allow
        it.
    probes
        Names of analyses of `probe`; those that the data or the model do not allow are left out with a message.
    seed
        Random seed of every stage.
    workers, scheduler
        Local processes, or the address of a Dask scheduler, for the stages that can use them.

    Returns
    -------
    Atlas
        The atlas with a finished result of every stage.
    """
    from headatlas.stages import collect

    # a mistake is reported now, not after hours of collecting, and what needs torch is checked last
    check(encoder, methods, projection, permutations, probes)
    texts = readers.load(dataset) if not isinstance(dataset, readers.Dataset) else dataset
    options = collect.Options(max_tokens=max_tokens, overlong=overlong, qk_tokens=qk_tokens, seed=seed, norms=norms)
    collect.check(model, texts, path, options, workers)
    choose(encoder, "default", 1, seed)
    atlas = collect.maps(
        model, texts, path, max_tokens=max_tokens, overlong=overlong, qk_tokens=qk_tokens, seed=seed, norms=norms,
        workers=workers, scheduler=scheduler,
    )  # fmt: skip
    analyze(
        atlas, encoder=encoder, methods=methods, projection=projection, permutations=permutations, null=null,
        probes=probes, model=model, seed=seed, workers=workers, scheduler=scheduler,
    )  # fmt: skip
    return atlas


def check(
    encoder: str, methods: Sequence[str], projection: str, permutations: int = 1, probes: Sequence[str] = ()
) -> None:
    """Raise OptionError for a name that no stage knows. Imports neither torch nor transformers."""
    from headatlas.stages import cluster, probe, project

    if not methods:
        raise OptionError(f"no clustering method: choose {', '.join(cluster.METHODS)}")
    for method in methods:
        if method not in cluster.METHODS:
            raise OptionError(f"--method {method}: choose {', '.join(cluster.METHODS)}")
    if projection not in (*project.METHODS, AUTO):
        raise OptionError(f"--projection {projection}: choose {', '.join((*project.METHODS, AUTO))}")
    if permutations < 1:
        raise OptionError(f"permutations {permutations}: at least 1 permutation is needed")
    for name in probes:
        if name not in probe.ANALYSES:
            raise OptionError(f"--probe {name}: choose {', '.join(probe.ANALYSES)}")
    is_vision(encoder)


def analyze(
    atlas: AtlasLike,
    *,
    encoder: str = ENCODER,
    methods: Sequence[str] = (METHOD,),
    projection: str = AUTO,
    permutations: int = 999,
    null: bool = False,
    probes: Sequence[str] = (),
    model: ModelLike | None = None,
    seed: int = 0,
    workers: int = 0,
    scheduler: str | None = None,
) -> None:
    """Run every stage after `collect` on an atlas; parameters are those of `run`."""
    from headatlas.stages import cluster, correlate, features, project

    atlas = Atlas.open(atlas)
    features.image(atlas, encoder, seed=seed, workers=workers, scheduler=scheduler)
    of = atlas.needed("features")
    for method in reversed(methods):
        cluster.METHODS[method](atlas, of=of, seed=seed, workers=workers, scheduler=scheduler)
        correlate.clusters(atlas, of=method, permutations=permutations, seed=seed)
        if null:
            _null(atlas, method, model, encoder, seed)
    project.METHODS[_projection(atlas, projection)](atlas, of=of, seed=seed, workers=workers, scheduler=scheduler)
    for stage in ("cluster", "correlate"):  # both may have existed before the others
        engine.prefer(atlas, stage, methods[0])
    for name in probes:
        _probe(atlas, name, model, seed)


def _projection(atlas: Atlas, name: str) -> str:
    """The requested projection, or the one for as many maps as there are, which is said."""
    if name != AUTO:
        return name
    maps = len(existing_heads(atlas)) * int(atlas.collection["counts"]["examples"])
    chosen = by_size(maps)
    limits = f"t-SNE is the default for {TSNE_MAPS[0]:,} to {TSNE_MAPS[-1]:,}, else PCA"
    progress.say(f"projecting {maps:,} maps by {method_name(chosen)}: {limits}; --projection chooses another")
    return chosen


def _null(atlas: Atlas, of: str, model: ModelLike | None, encoder: str, seed: int) -> None:
    """Null models, where there can be some; `run` does not fail without them."""
    from headatlas import null

    try:
        null.references(atlas, of=of, model=model, encoder=encoder, seed=seed)
    except ModelError as error:
        progress.say(f"null models are left out: {error}")


def _probe(atlas: Atlas, name: str, model: ModelLike | None, seed: int) -> None:
    """One analysis of heads, where the data and the model allow it; `run` does not fail without it."""
    from headatlas.stages.probe.analyses import FUNCTIONS

    try:
        FUNCTIONS[name](atlas, model=model, seed=seed)
    except (DataError, ModelError) as error:
        progress.say(f"probe {name} is left out: {error}")
