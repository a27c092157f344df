"""Full maps, made when they are asked for: one forward pass at a time, the model loaded at first need and kept."""

from __future__ import annotations

import hashlib
import importlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from headatlas.errors import HeadatlasError
from headatlas.web.api.errors import Problem
from headatlas.web.api.payloads import Attempt, Example
from headatlas.web.compute import model_files
from headatlas.web.compute.cache import Kept
from headatlas.web.views import example_table

if TYPE_CHECKING:
    from headatlas.atlas.store import Atlas
    from headatlas.models.encode import Encoded
    from headatlas.models.model import Model
    from headatlas.web.api.encoding import Words
    from headatlas.web.compute.tsne import Laid
    from headatlas.web.views.site import View

KEPT = 256 << 20  # bytes of maps
LARGEST = 4 << 30  # bytes of the maps of a layer, as numbers of the model, that may be made at once
TRIES = 64  # texts of one's own that are remembered
LONGEST = 20_000  # characters of one
LAID = 64 << 20  # bytes of layouts that are kept
POINTS = 1024  # tokens of a text that is laid out: the work grows with their square
Maps = dict[int, "Words"]
Made = TypeVar("Made")


@dataclass(eq=False)
class Job:
    """Something to compute, how many wait for it, and how many of its pieces are done (of 0: not known yet)."""

    key: Hashable = None
    future: Future[Any] = field(default_factory=Future)
    stop: threading.Event = field(default_factory=threading.Event)
    waiting: int = 0
    done: int = 0
    total: int = 0


class Live:
    """Computes what the atlas does not hold. `wanted` is a model, or what to load in place of the atlas's own."""

    def __init__(self, wanted: str | Model | None = None) -> None:
        self.wanted = wanted
        self._prepared = False
        self.turn = 0  # counts what has become known of the model
        self._model: Model | None = None if isinstance(wanted, str) else wanted
        self._refused: dict[str, str] = {}  # hash of an atlas's model: why it cannot be had
        self._worker = ThreadPoolExecutor(1, "headatlas-model")  # one forward pass at a time
        self._lock = threading.Lock()
        self._jobs: dict[Hashable, Job] = {}
        self._kept: Kept[Maps] = Kept(KEPT, lambda maps: sum(one.nbytes for one in maps.values()))
        self._laid: Kept[Laid] = Kept(LAID, lambda laid: laid.nbytes)
        self._tries: OrderedDict[str, Encoded] = OrderedDict()

    # the model

    def state(self, atlas: Atlas) -> tuple[bool, str]:
        """Whether full maps can probably be had, and if not, why and what to do; nothing is loaded for it."""
        facts = atlas.header["model"]
        if facts["hash"] in self._refused:
            return False, self._refused[facts["hash"]]
        if self._model is not None or model_files.candidates(facts, self._name):
            return True, ""
        command = f"headatlas serve {atlas.files.url} --model FOLDER"
        if self._name is not None:
            return False, f"There is no model {self._name} on this machine. Give the folder that holds it: {command}"
        return False, f"Full maps need the model {facts['name']}, which is not at hand. Start: {command}"

    @property
    def _name(self) -> str | None:
        return self.wanted if isinstance(self.wanted, str) else None

    def _load(self, atlas: Atlas) -> Model:
        """The model of this atlas, in the thread of the worker."""
        facts = atlas.header["model"]
        if facts["hash"] in self._refused:
            raise Problem(503, self._refused[facts["hash"]])
        if self._model is not None and self._model.hash == facts["hash"]:
            return self._model
        from headatlas import models

        problems = [] if self._model is None else [f"{self._model.name} has other weights"]
        given = self.wanted is not None and self._name is None  # a model in memory: nothing else is looked for
        for name in [] if given else model_files.candidates(facts, self._name):
            try:
                model = models.load(name, modality=facts.get("modality"))
            except HeadatlasError as error:
                problems.append(str(error))
                continue
            if model.hash == facts["hash"]:
                self._model = model
                return model
            problems.append(f"{name} has other weights")
        command = f"headatlas serve {atlas.files.url} --model FOLDER"
        said = f"The model that this atlas was made with, {facts['name']}, is not at hand: {'; '.join(problems)}."
        self._refused[facts["hash"]] = f"{said} Start: {command}"
        self.turn += 1
        raise Problem(503, said, command)

    def prepare(self) -> None:
        """Import what forward passes need, which takes seconds, when one is likely to come; load nothing yet."""
        if not self._prepared:
            self._prepared = True
            self._worker.submit(importlib.import_module, "headatlas.web.compute.forward")

    # jobs

    def submit(self, key: Hashable, work: Callable[[Job], Any]) -> Job:
        """Ask for something; who asks for the same while it is being made gets the same."""
        with self._lock:
            job = self._jobs.get(key)
            if job is None or job.stop.is_set():
                job = self._jobs[key] = Job(key)
                self._worker.submit(self._do, job, work)
            job.waiting += 1
            return job

    def leave(self, job: Job) -> None:
        """Wait no longer; what nobody waits for is given up."""
        with self._lock:
            job.waiting -= 1
            if job.waiting == 0:
                job.stop.set()

    def _do(self, job: Job, work: Callable[[Job], Any]) -> None:
        try:
            if job.stop.is_set():
                raise Problem(503, "Nobody waits for this any more.")
            job.future.set_result(work(job))
        except BaseException as error:
            job.future.set_exception(error)
        finally:
            with self._lock:
                if self._jobs.get(job.key) is job:
                    del self._jobs[job.key]

    def close(self) -> None:
        """Give up everything."""
        with self._lock:
            for job in self._jobs.values():
                job.stop.set()
        self._worker.shutdown(wait=False, cancel_futures=True)

    # maps

    def example(self, view: View, number: int, layer: int, head: int) -> bytes | Job:
        """A full map of an example, or the job that makes it."""
        view.check(number, layer, head)
        if not view.live:
            raise Problem(404, view.note or "There are no full maps.")
        tokens, target = (
            example_table.numbers(view, "n_tokens", 0)[number],
            example_table.numbers(view, "n_target", 0)[number],
        )
        part = _part(view, tokens, target, layer, head)

        def work(job: Job) -> Maps:
            from headatlas.web.compute import forward

            return forward.of_example(self._load(view.atlas), view, number, forward.Part(*part), job.stop)

        return self._maps((view.tag, number, *part), layer, head, work)

    def attempt(self, view: View, key: str, layer: int, head: int) -> bytes | Job:
        """A full map of a text of one's own, or the job that makes it."""
        view.check(0, layer, head)
        encoded = self._tries.get(key)
        if encoded is None:
            raise Problem(404, "This text is forgotten.", "Send it again.")
        part = _part(view, len(encoded.source), len(encoded.target) if encoded.target else 0, layer, head)

        def work(job: Job) -> Maps:
            from headatlas.web.compute import forward

            return forward.of_text(self._load(view.atlas), encoded, forward.Part(*part), job.stop)

        return self._maps((key, *part), layer, head, work)

    def _maps(
        self, key: Hashable, layer: int, head: int, work: Callable[[Job], Maps]
    ) -> bytes | Job:  # fmt: skip
        there = self._kept.get(key)
        return self._keep(self._kept, key, work) if there is None else one_map(there, layer, head)

    def _keep(self, shelf: Kept[Made], key: Hashable, work: Callable[[Job], Made]) -> Job:
        """The job that makes something and keeps it."""

        def keep(job: Job) -> Made:
            made = shelf.get(key) or work(job)
            shelf.put(key, made)
            return made

        return self.submit(key, keep)

    # layouts

    def laid(self, view: View, what: int | str, how: str = "tsne") -> Laid | Job:
        """Head t-SNE of an example, or of a text of one's own by its key; or the job that makes it."""
        encoded = None
        if isinstance(what, int):
            view.check(what)
            if not view.live:
                raise Problem(404, view.note or "Head t-SNE needs the model, which is not at hand.")
            size = max(
                example_table.numbers(view, "n_tokens", 0)[what], example_table.numbers(view, "n_target", 0)[what]
            )
        else:
            encoded = self._tries.get(what)
            if encoded is None:
                raise Problem(404, "This text is forgotten.", "Send it again.")
            size = max(len(encoded.source), len(encoded.target) if encoded.target else 0)
        if size > POINTS:
            raise Problem(
                422, f"{size:,} tokens are too many to lay out here: at most {POINTS:,}.", "Shorten the text."
            )
        key = _laid_key(view, what, how)
        there = self._laid.get(key)
        if there is not None:
            return there

        def work(job: Job) -> Laid:
            from headatlas.web.compute import tsne

            model = self._load(view.atlas)
            if encoded is None:
                return tsne.of_example(model, view, int(what), how, job)
            return tsne.of_text(model, encoded, str(what), how, job)

        return self._keep(self._laid, key, work)

    def laying(self, view: View, what: int | str, how: str) -> tuple[int, int]:
        """How many pieces of head t-SNE are done, and of how many; nothing is begun for it."""
        with self._lock:
            job = self._jobs.get(_laid_key(view, what, how))
        return (job.done, job.total) if job is not None else (0, 0)

    def read(self, view: View, asked: Attempt) -> Job:
        """A text of one's own as tokens."""
        if len(asked.text) + len(asked.pair or "") > LONGEST:
            raise Problem(413, f"At most {LONGEST:,} characters are read.", "Shorten the text.")
        if not asked.text.strip():
            raise Problem(422, "The text is empty.", "Write a word or two.")
        if not view.live:
            raise Problem(404, view.note or "There are no full maps.")
        text, pair = (
            None if one is None else one.encode("utf-8", "replace").decode() for one in (asked.text, asked.pair)
        )
        key = hashlib.sha256(json.dumps([view.atlas.header["model"]["hash"], text, pair]).encode()).hexdigest()[:32]

        def work(job: Job) -> Example:
            from headatlas.web.compute import forward

            options = view.atlas.options
            encoded = forward.read_text(self._load(view.atlas), text or "", pair, options)
            self._tries[key] = encoded
            self._tries.move_to_end(key)
            while len(self._tries) > TRIES:
                self._tries.popitem(last=False)
            tokens, target = forward.shown(encoded)
            note = f"The last {encoded.cut:,} tokens were cut off." if encoded.cut else ""
            return Example(
                example=-1, id="", text=text or "", pair=pair, window=0, windows=1, cut=encoded.cut, columns={},
                tokens=tokens, target=target, image=None, pooled=None, full=f"api/try/{key}/LAYER.HEAD.bin",
                tsne=f"api/try/{key}/tsne.json", note=note,
            )  # fmt: skip

        return self.submit(("read", key), work)


def _laid_key(view: View, what: int | str, how: str) -> Hashable:
    return (how, view.tag, what) if isinstance(what, int) else (how, what)


def one_map(maps: Maps, layer: int, head: int) -> bytes:
    """One map of those that were kept."""
    heads = maps[layer]
    found: bytes = heads[head if len(heads) > 1 else 0].tobytes()
    return found


def _part(view: View, tokens: int, target: int, layer: int, head: int) -> tuple[int | None, int | None]:
    """What is kept of a forward pass: everything if there is room, so that the next head is there at once."""
    layers = view.atlas.header["model"]["layers"]
    both = bool(target)

    def size(kind: str) -> int:
        queries = tokens if kind == "encoder" or not both else target
        keys = target if kind == "decoder" and both else tokens
        return queries * keys

    sizes = [2 * one["heads"] * size(one["kind"]) for one in layers]
    if 2 * max(sizes) > LARGEST:
        raise Problem(422, f"{tokens:,} tokens are too many for full maps.", "Look at the pooled map instead.")
    if sum(sizes) <= KEPT:
        return None, None
    return (layer, None) if sizes[layer] <= KEPT else (layer, head)
