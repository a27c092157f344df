"""Full maps, computed on request. Importing this is quick: torch is imported when a map is computed."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from headatlas.web.api.errors import RequestError
from headatlas.web.compute.jobs import Job, Pending
from headatlas.web.compute.runner import Maps, ModelRunner
from headatlas.web.compute.source import Source, cache_key, find
from headatlas.web.views.snapshot import Snapshot

LARGEST_LAYER = 4 << 30  # bytes of the maps of a layer, in the numbers of the model, that may be computed at once


def full_map(
    runner: ModelRunner,
    snapshot: Snapshot,
    *,
    layer: int,
    head: int,
    example: int | None = None,
    key: str | None = None,
) -> bytes | Pending:
    """A full map (query, key) of an example or a custom text."""
    snapshot.check_map(example or 0, layer, head)
    source = find(runner, snapshot, example, key)
    selection = _selection(_layers(snapshot), source, layer, head, runner.maps.limit)
    return _response(runner, snapshot, source, selection, (example, key), lambda maps: single_map(maps, layer, head))


def layer_maps(
    runner: ModelRunner, snapshot: Snapshot, *, layer: int, example: int | None = None, key: str | None = None
) -> bytes | Pending:
    """The full maps (head, query, key) of a layer, on an example or a custom text."""
    snapshot.check_map(example or 0, layer)
    source = find(runner, snapshot, example, key)
    selection = _selection(_layers(snapshot), source, layer, None, runner.maps.limit)
    return _response(runner, snapshot, source, selection, (example, key), lambda maps: maps[layer].tobytes())


def _response(
    runner: ModelRunner,
    snapshot: Snapshot,
    source: Source,
    selection: tuple[int | None, int | None],
    text: tuple[int | None, str | None],
    take: Callable[[Maps], bytes],
) -> bytes | Pending:
    """What `take` gives from the selected maps, which are computed if they are not in the cache."""
    maps_key: Hashable = ("maps", cache_key(snapshot, *text), *selection)
    maps = runner.maps.get(maps_key)
    if maps is not None:
        return take(maps)

    def work(job: Job) -> Maps:
        from headatlas.web.compute import forward

        model = runner.loader.load(snapshot.atlas)
        return forward.full_maps(model, snapshot, source, forward.Selection(*selection), job.canceled)

    return Pending(runner.submit(runner.maps, maps_key, work), take)


def single_map(maps: Maps, layer: int, head: int) -> bytes:
    """One of the maps that were computed."""
    heads = maps[layer]
    content: bytes = heads[head if len(heads) > 1 else 0].tobytes()
    return content


def _layers(snapshot: Snapshot) -> list[dict[str, Any]]:
    layers: list[dict[str, Any]] = snapshot.atlas.header["model"]["layers"]
    return layers


def _selection(
    layers: list[dict[str, Any]], source: Source, layer: int, head: int | None, limit: int
) -> tuple[int | None, int | None]:  # fmt: skip
    """Which maps of a forward pass are kept: all if they fit, so that the next head is available at once."""
    sizes = [2 * facts["heads"] * map_size(source, facts["kind"]) for facts in layers]
    if 2 * max(sizes) > LARGEST_LAYER:
        raise RequestError(
            422, f"{source.tokens:,} tokens are too many for full maps.", "Look at the pooled map instead."
        )
    if sum(sizes) <= limit:
        return None, None
    return (layer, None) if sizes[layer] <= limit else (layer, head)


def map_size(source: Source, kind: str) -> int:
    """Queries × keys of a layer."""
    queries = source.tokens if kind == "encoder" or not source.target else source.target
    keys = source.target if kind == "decoder" and source.target else source.tokens
    return queries * keys
