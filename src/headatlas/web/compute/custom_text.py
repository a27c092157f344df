"""Custom texts: what a reader types, as the model reads it."""

from __future__ import annotations

import hashlib
import json

from headatlas.web.api.errors import RequestError
from headatlas.web.api.payloads.examples import CustomText, Example
from headatlas.web.compute.jobs import Pending
from headatlas.web.compute.runner import ModelRunner
from headatlas.web.compute.source import CUSTOM
from headatlas.web.views.snapshot import Snapshot

LONGEST = 20_000  # characters


def read(runner: ModelRunner, snapshot: Snapshot, body: CustomText) -> Pending:
    """A custom text as tokens; it is remembered under its key."""
    if len(body.text) + len(body.pair or "") > LONGEST:
        raise RequestError(413, f"A custom text has at most {LONGEST:,} characters.", "Shorten the text.")
    if not body.text.strip():
        raise RequestError(422, "The text is empty.", "Write a word or two.")
    if not snapshot.live:
        raise RequestError(404, snapshot.live_note or "The model of this atlas is not available.")
    text = _valid(body.text)
    pair = None if body.pair is None else _valid(body.pair)
    facts = json.dumps([snapshot.atlas.header["model"]["hash"], text, pair])
    key = hashlib.sha256(facts.encode()).hexdigest()[:32]
    job = runner.jobs.submit(("text", key), lambda job: _read(runner, snapshot, key, text, pair))
    return Pending(job, lambda example: example)


def _valid(text: str) -> str:
    """A text without half surrogates, which JSON can hold and UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode()


def _read(runner: ModelRunner, snapshot: Snapshot, key: str, text: str, pair: str | None) -> Example:
    from headatlas.web.compute import forward

    encoded = forward.read_text(runner.loader.load(snapshot.atlas), text, pair, snapshot.atlas.options)
    runner.remember(key, encoded)
    tokens, target = forward.token_payloads(encoded)
    return Example(
        example=CUSTOM, key=key, id="", text=text, pair=pair, window=0, windows=1, cut=encoded.cut, columns={},
        tokens=tokens, target=target, image=False, pooled=False, full=True, tsne=True, vectors=False,
        note=f"The last {encoded.cut:,} tokens were cut off." if encoded.cut else "",
    )  # fmt: skip
