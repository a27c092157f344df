"""Custom texts reduced as the atlas was collected: pooled maps and statistics. Importing this is quick."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING

from headatlas.web.api.errors import RequestError
from headatlas.web.api.payloads.base import Payload
from headatlas.web.compute.jobs import Job, Pending
from headatlas.web.compute.runner import ModelRunner, Reduced
from headatlas.web.compute.source import find
from headatlas.web.views.columns import statistics
from headatlas.web.views.snapshot import Snapshot

if TYPE_CHECKING:
    from headatlas.models.encode import Encoded


def pooled(runner: ModelRunner, snapshot: Snapshot, *, key: str) -> Payload | bytes | Pending:
    """All pooled maps of a custom text."""
    from headatlas.web.api import arrays

    return response(runner, snapshot, key, lambda reduced: arrays.attention(reduced.pooled).tobytes())


def response(
    runner: ModelRunner, snapshot: Snapshot, key: str, take: Callable[[Reduced], Payload | bytes]
) -> Payload | bytes | Pending:
    """What `take` gives from the maps and statistics of a custom text, computed if they are not in the cache."""
    encoded = find_encoded(runner, snapshot, key)
    made = runner.reduced.get(_key(snapshot, key))
    if made is not None:
        return take(made)

    def work(job: Job) -> Reduced:
        return reduced(runner, snapshot, key, encoded)

    return Pending(runner.submit(runner.reduced, _key(snapshot, key), work), take)


def find_encoded(runner: ModelRunner, snapshot: Snapshot, key: str) -> Encoded:
    """The custom text with this key, as the model reads it."""
    encoded = find(runner, snapshot, None, key).encoded
    assert encoded is not None  # only examples of the atlas are read later
    return encoded


def reduced(runner: ModelRunner, snapshot: Snapshot, key: str, encoded: Encoded) -> Reduced:
    """Pooled maps and statistics by the code of the stage `collect`. Call it in the thread of jobs."""
    made = runner.reduced.get(_key(snapshot, key))
    if made is None:
        from headatlas.models.groups import text_groups
        from headatlas.stages.collect.batches import reduce_groups
        from headatlas.stages.collect.stat_axis import atlas_statistics

        model, options = runner.loader.load(snapshot.atlas), snapshot.atlas.options
        groups = text_groups(model, [encoded], options["batch_tokens"])
        computed = atlas_statistics(model, snapshot.atlas)  # between spans, which a custom text has not, they are NaN
        pooled, stats = reduce_groups(model, groups, 1, options["resolution"], computed)
        places = _places(computed.names, statistics(snapshot))
        made = Reduced(pooled[0], stats[0][..., places])
        runner.reduced.put(_key(snapshot, key), made)
    return made


def _places(names: Sequence[str], collected: list[str]) -> list[int]:
    """Where the statistics of the atlas are among those that this version computes, which may be more.

    >>> _places(("entropy", "previous", "next"), ["next", "entropy"])
    [2, 0]
    """
    missing = [name for name in collected if name not in names]
    if missing:
        message = f"The atlas was collected by another version of Headatlas: {missing[0]} is not computed any more."
        raise RequestError(409, message, "Collect the atlas again.")
    return [list(names).index(name) for name in collected]


def _key(snapshot: Snapshot, key: str) -> Hashable:
    return "reduced", key, snapshot.atlas.options["resolution"]
