"""The feature space of the first atlas, in which the maps of other models become vectors and get clusters.

What needs torch is imported when it is used, so that mistakes are reported before.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from headatlas.atlas.blocks import read_blocks
from headatlas.atlas.store import Atlas
from headatlas.compare.compared import Collection
from headatlas.errors import OptionError
from headatlas.wording.compare import WITHOUT

if TYPE_CHECKING:
    from headatlas.stages.cluster.membership import Assigned, Clusters
    from headatlas.stages.features.encoders import Encoder

Given: TypeAlias = "str | os.PathLike[str] | Encoder | None"


@dataclass(frozen=True)
class Names:
    """The results of the first atlas that are used: features, and a clustering of maps; and why there is none."""

    features: str | None = None
    clustering: str | None = None
    without: str = ""  # why patterns are left out, a key of `wording.compare.WITHOUT`


def choose_space(atlas: Atlas, of: str | None, given: Given, *, needed: bool) -> Names:
    """The features and the clustering to use.

    Patterns that cannot be compared are left out, unless the clustering is named. Features may be `needed` anyway.
    """
    clustering = atlas.latest("cluster") if of is None else atlas.needed("cluster", of)
    without = "no clustering" if clustering is None else _refusal(atlas, clustering)
    if of is not None and without:
        raise OptionError(f"--of {of}: {WITHOUT[without]}. Choose another clustering")
    if without:
        if not needed:
            return Names(without=without)
        return Names(_stored(atlas, atlas.needed("features"), given), None, without)
    features = atlas.source("cluster", clustering or "") or atlas.needed("features")
    try:
        return Names(_stored(atlas, features, given), clustering)
    except OptionError:
        if needed or of is not None:
            raise
        return Names(without="encoder")


def _refusal(atlas: Atlas, clustering: str) -> str:
    """Why a clustering cannot be used; empty if it can."""
    facts = atlas.facts("cluster", clustering)
    if facts.get("level", "maps") != "maps":
        return "heads"
    return "" if facts["clusters"] else "noise"


def _stored(atlas: Atlas, features: str, given: Given) -> str:
    """The name of the features, if their encoder is given, or can be restored."""
    from headatlas.stages.features.fitted import not_stored

    missing = not_stored(atlas, features) if given is None else None
    if missing is None:
        return features
    raise OptionError(
        f"features {features} were made by {missing}, which is not stored in the atlas. Give it with --encoder"
    )


@dataclass(frozen=True)
class Space:
    """The encoder of the features, as it was fitted, and the clusters, if there are any."""

    first: Collection
    names: Names
    encoder: Encoder
    clusters: Clusters | None
    batch: int  # maps encoded at a time

    def encode(self, other: Collection, rows: range) -> NDArray[np.float16]:
        """Vectors (example, layer, head, feature) of the maps of another model."""
        from headatlas.stages.features.block import encode, reads

        maps: dict[str, Any] = {}
        for name in reads(self.encoder):
            values = other.atlas.read(name, slice(rows.start, rows.stop))
            maps[name] = aligned(values, other.statistics, self.first.statistics) if name == "stats" else values
        return encode(self.encoder, maps.get("pooled"), maps.get("stats"), self.batch, rows.start)

    def assign(self, vectors: NDArray[Any]) -> Assigned | None:
        """Their clusters; None without a clustering."""
        return None if self.clusters is None else self.clusters.assign(vectors)

    def mean_vectors(self) -> NDArray[np.float64]:
        """The mean vector (slot, feature) of each head of the first model over all examples."""
        layer, head = self.first.heads.T
        total: Any = 0.0
        for _, vectors in read_blocks(self.first.atlas, "features", self.names.features):
            total = total + vectors[:, layer, head].astype(np.float64).sum(0)
        mean: NDArray[np.float64] = total / int(self.first.atlas.collection["counts"]["examples"])
        return mean


def open_space(first: Collection, names: Names, given: Given) -> Space | None:
    """The space of some features and a clustering; None without features."""
    if names.features is None:
        return None
    from headatlas.stages.cluster.membership import read_clusters
    from headatlas.stages.features.fitted import load_encoder

    atlas = first.atlas
    encoder = load_encoder(atlas, names.features, given)
    batch = atlas.results("features")[names.features]["recipe"]["options"]["batch"]
    clusters = None if names.clustering is None else read_clusters(atlas, names.clustering)
    return Space(first, names, encoder, clusters, batch)


def aligned(values: NDArray[Any], names: list[str], wanted: list[str]) -> NDArray[Any]:
    """Statistics (…, stat) in another order; those that are missing are NaN.

    >>> aligned(np.array([[1.0, 2.0]]), ["a", "b"], ["b", "c"]).tolist()
    [[2.0, nan]]
    """
    if names == wanted:
        return values
    result = np.full((*values.shape[:-1], len(wanted)), np.nan, values.dtype)
    for place, name in enumerate(wanted):
        if name in names:
            result[..., place] = values[..., names.index(name)]
    return result
