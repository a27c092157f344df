"""Clusters with the names that a person gave them on the page, as far as there are any."""

from __future__ import annotations

from dataclasses import replace

from headatlas import progress
from headatlas.atlas import notes, summaries
from headatlas.atlas.store import Atlas
from headatlas.atlas.summaries import Cluster
from headatlas.errors import StoreError


def correlated(atlas: Atlas, of: str | None) -> tuple[str, list[Cluster]]:
    """The clustering to show and its clusters, as `summaries.correlated` gives them."""
    of, clusters = summaries.correlated(atlas, of)
    given = _given(atlas, of)
    return of, [replace(cluster, name=given.get(cluster.number, cluster.name)) for cluster in clusters]


def names(atlas: Atlas, clustering: str) -> dict[int, str]:
    """Names of the clusters of a clustering, as `summaries.names` gives them."""
    return summaries.names(atlas, clustering) | _given(atlas, clustering)


def _given(atlas: Atlas, clustering: str) -> dict[int, str]:
    """Names by number; none if the file of notes cannot be read, which is reported."""
    try:
        entries = notes.read(atlas.files).patterns
    except StoreError as error:
        progress.say(f"without notes: {error}")
        return {}
    return {
        entry.pattern: entry.name
        for entry in entries
        if entry.name and entry.clustering == clustering and notes.is_current(atlas, entry)
    }
