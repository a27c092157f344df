"""A search over heads, computed on request. Importing this is quick: torch is imported when a search runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable
from typing import TYPE_CHECKING

from headatlas.errors import HeadatlasError
from headatlas.web.api.errors import RequestError
from headatlas.web.api.payloads.base import Payload
from headatlas.web.api.payloads.probe import FoundHead, FoundHeads, SearchKey, SearchRequest
from headatlas.web.api.payloads.tsne import Progress
from headatlas.web.compute.jobs import Job, Pending
from headatlas.web.compute.runner import ModelRunner
from headatlas.web.views.snapshot import Snapshot
from headatlas.web.views.values import known

if TYPE_CHECKING:
    import pyarrow as pa


def ask(runner: ModelRunner, snapshot: Snapshot, body: SearchRequest) -> SearchKey:
    """Check the conditions of a search, and remember it under its key; nothing is computed yet."""
    from headatlas.stages.probe.conditions import of_search

    if not snapshot.live:
        raise RequestError(404, snapshot.live_note or "The model of this atlas is not available.")
    try:
        of_search(snapshot.atlas, body.source, body.target)
    except HeadatlasError as error:
        raise RequestError(422, str(error)) from error
    key = hashlib.sha256(json.dumps(body.model_dump(), sort_keys=True).encode()).hexdigest()[:32]
    runner.searches.put(key, body)
    return SearchKey(key=key)


def results(runner: ModelRunner, snapshot: Snapshot, *, key: str) -> Payload | Pending:
    """All heads by their attention between the tokens that were asked for."""
    request = runner.searches.get(key)
    if request is None:
        raise RequestError(404, "This search has been forgotten.", "Ask for it again.")
    result_key = _key(snapshot, key)
    made = runner.found_heads.get(result_key)
    if made is not None:
        return made
    work = runner.submit(runner.found_heads, result_key, lambda job: _search(runner, snapshot, request, job))
    return Pending(work, lambda payload: payload)


def progress(runner: ModelRunner, snapshot: Snapshot, *, key: str) -> Progress:
    """How many examples are done; nothing is started."""
    job = runner.jobs.find(_key(snapshot, key))
    return Progress(done=job.done, total=job.total) if job else Progress(done=0, total=0)


def _key(snapshot: Snapshot, key: str) -> Hashable:
    return "search", snapshot.tag, key


def _search(runner: ModelRunner, snapshot: Snapshot, request: SearchRequest, job: Job) -> FoundHeads:
    from headatlas.stages.probe.conditions import of_search
    from headatlas.stages.probe.head_search import search_table
    from headatlas.stages.probe.source import Source, drawn_examples

    numbers = drawn_examples(snapshot.atlas, request.examples, 0)
    job.total = len(numbers)

    def advance(steps: int) -> None:
        job.done += steps
        if job.canceled.is_set():
            raise RequestError(503, "Canceled: no client waits for this any more.")

    source = Source(snapshot.atlas, numbers, runner.loader.load(snapshot.atlas))
    table = search_table(source, *of_search(snapshot.atlas, request.source, request.target), advance)
    return _payload(request, table)


def _payload(request: SearchRequest, table: pa.Table) -> FoundHeads:
    from headatlas.wording import capitalize
    from headatlas.wording.probe_search import search_line

    rows = table.to_pylist()
    numbers = ("attention", "low", "high", "even", "strongest")
    return FoundHeads(
        sentence=f"{capitalize(search_line(request.source, request.target, rows[0]))}.",
        texts=rows[0]["texts"],
        queries=rows[0]["queries"],
        heads=[
            FoundHead(layer=row["layer"], head=row["head"], **{name: known(row[name]) for name in numbers})
            for row in rows
        ],
    )
