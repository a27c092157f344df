"""Head t-SNE, computed on request. Importing this is quick: torch is imported when layouts are computed."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from headatlas.web.api.errors import RequestError
from headatlas.web.api.payloads.base import Payload
from headatlas.web.api.payloads.tsne import Progress
from headatlas.web.compute.jobs import Job, Pending
from headatlas.web.compute.runner import ModelRunner
from headatlas.web.compute.source import cache_key, find
from headatlas.web.views.snapshot import Snapshot

if TYPE_CHECKING:
    from headatlas.web.compute.tsne_layouts import TsneResult

MOST_TOKENS = 1024  # of a text: the work grows with their square


def layouts(
    runner: ModelRunner, snapshot: Snapshot, *, variant: str, example: int | None = None, key: str | None = None
) -> Payload | bytes | Pending:
    """The layouts of an example or a custom text."""
    return _response(runner, snapshot, variant, example, key, lambda result: result.payload)


def positions(
    runner: ModelRunner,
    snapshot: Snapshot,
    *,
    variant: str,
    layouts: str,
    example: int | None = None,
    key: str | None = None,
) -> Payload | bytes | Pending:
    """The positions in all layouts of heads, or of hidden states."""
    return _response(runner, snapshot, variant, example, key, lambda result: result.positions[layouts])


def maximum(
    runner: ModelRunner,
    snapshot: Snapshot,
    *,
    variant: str,
    layer: int,
    example: int | None = None,
    key: str | None = None,
) -> Payload | bytes | Pending:
    """The maximum attention of a layer."""
    snapshot.check_map(0, layer)
    return _response(runner, snapshot, variant, example, key, lambda result: result.maximum[layer])


def progress(
    runner: ModelRunner, snapshot: Snapshot, *, variant: str, example: int | None = None, key: str | None = None
) -> Progress:
    """How many layouts are finished; nothing is started."""
    job = runner.jobs.find(_key(snapshot, variant, example, key))
    return Progress(done=job.done, total=job.total) if job else Progress(done=0, total=0)


def _response(
    runner: ModelRunner,
    snapshot: Snapshot,
    variant: str,
    example: int | None,
    key: str | None,
    take: Callable[[TsneResult], Payload | bytes],
) -> Payload | bytes | Pending:
    """What `take` gives from the result, which is computed if it is not in the cache."""
    source = find(runner, snapshot, example, key)
    size = max(source.tokens, source.target)
    if size > MOST_TOKENS:
        message = f"{size:,} tokens are too many for t-SNE on request: at most {MOST_TOKENS:,}."
        raise RequestError(422, message, "Shorten the text.")
    result_key = _key(snapshot, variant, example, key)
    result = runner.tsne.get(result_key)
    if result is not None:
        return take(result)

    def work(job: Job) -> TsneResult:
        from headatlas.web.compute import tsne_layouts

        return tsne_layouts.compute(runner.loader.load(snapshot.atlas), snapshot, source, variant, job)

    return Pending(runner.submit(runner.tsne, result_key, work), take)


def _key(snapshot: Snapshot, variant: str, example: int | None, key: str | None) -> Hashable:
    return variant, cache_key(snapshot, example, key)
