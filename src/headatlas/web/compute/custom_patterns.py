"""The patterns and statistics of custom texts: their maps get vectors and labels like those of the atlas.

Importing this is quick: encoders and clusterings are imported when they are needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headatlas.errors import HeadatlasError
from headatlas.web.api.payloads.base import Payload
from headatlas.web.api.payloads.examples import TextPatterns, TextStatistics
from headatlas.web.compute import custom_maps
from headatlas.web.compute.jobs import Job, Pending
from headatlas.web.compute.runner import ModelRunner, Reduced
from headatlas.web.views.columns import statistics as statistic_names
from headatlas.web.views.snapshot import Snapshot
from headatlas.web.views.values import known

if TYPE_CHECKING:
    from headatlas.atlas.store import Atlas
    from headatlas.stages.cluster.membership import Clusters
    from headatlas.stages.features.encoders import Encoder


@dataclass(frozen=True)
class Labeler:
    """What labels maps: the encoder of the features, and the clusters as they were fitted."""

    encoder: Encoder
    clusters: Clusters
    batch: int  # maps encoded at a time

    def label(self, reduced: Reduced) -> TextPatterns:
        """The patterns of the maps of a text, by the rule of the clustering."""
        from headatlas.atlas.schema import MISSING, NOISE
        from headatlas.stages.features.block import encode

        vectors = encode(self.encoder, reduced.pooled[None], reduced.stats[None], self.batch)
        assigned = self.clusters.assign(vectors)
        labels, far = assigned.labels[0], (assigned.patterns[0] == NOISE) & (assigned.labels[0] >= 0)
        rows = [[None if label == MISSING else int(label) for label in layer] for layer in labels]
        return TextPatterns(labels=rows, far=far.tolist(), note="")


def patterns(runner: ModelRunner, snapshot: Snapshot, *, key: str, clustering: str) -> Payload | bytes | Pending:
    """The pattern of every head on a custom text."""
    snapshot.result("cluster", clustering, "clustering")
    encoded = custom_maps.find_encoded(runner, snapshot, key)
    patterns_key = ("patterns", snapshot.tag, clustering, key)
    made = runner.patterns.get(patterns_key)
    if made is not None:
        return made

    def work(job: Job) -> TextPatterns:
        labeler = snapshot.cached(("labeler", clustering), lambda: _labeler(snapshot.atlas, clustering))
        if isinstance(labeler, TextPatterns):
            return labeler
        return labeler.label(custom_maps.reduced(runner, snapshot, key, encoded))

    return Pending(runner.submit(runner.patterns, patterns_key, work), lambda payload: payload)


def statistics(runner: ModelRunner, snapshot: Snapshot, *, key: str) -> Payload | bytes | Pending:
    """The statistics of every head on a custom text."""
    names = statistic_names(snapshot)
    return custom_maps.response(runner, snapshot, key, lambda reduced: _statistics(names, reduced))


def _statistics(names: list[str], reduced: Reduced) -> TextStatistics:
    values = [[[known(value) for value in head] for head in layer] for layer in reduced.stats]
    return TextStatistics(names=names, values=values)


def _labeler(atlas: Atlas, clustering: str) -> Labeler | TextPatterns:
    """What labels maps, or the same response for every text: labels of heads, or why there are none."""
    from headatlas.stages.cluster.membership import read_clusters
    from headatlas.stages.features.fitted import load_encoder, not_stored

    if atlas.facts("cluster", clustering).get("level", "maps") != "maps":
        return _of_heads(atlas, clustering)
    features = atlas.source("cluster", clustering) or atlas.needed("features")
    encoder = not_stored(atlas, features)
    if encoder is not None:
        return _unknown(f"the encoder of its vectors, {encoder}, is not stored in the atlas.")
    try:
        batch = atlas.results("features")[features]["recipe"]["options"]["batch"]
        return Labeler(load_encoder(atlas, features), read_clusters(atlas, clustering), batch)
    except HeadatlasError as error:
        return _unknown(f"{error}.")


def _of_heads(atlas: Atlas, clustering: str) -> TextPatterns:
    """Every map has the label of its head."""
    labels = atlas.read("labels", slice(0, 1), clustering)[0]
    rows = [[None if label < -1 else int(label) for label in layer] for layer in labels]
    return TextPatterns(labels=rows, far=(labels < -1).tolist(), note="")


def _unknown(reason: str) -> TextPatterns:
    return TextPatterns(labels=[], far=[], note=f"The patterns of custom text are not known: {reason}")
