"""Everything that is computed with the model on request: the model, the queue of jobs, and caches of their results."""

from __future__ import annotations

import importlib
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from headatlas.web.compute.cache import LRUCache
from headatlas.web.compute.jobs import Job, JobQueue
from headatlas.web.compute.model_loader import ModelLoader

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headatlas.models.encode import Encoded
    from headatlas.models.model import Model
    from headatlas.web.api.arrays import U16
    from headatlas.web.api.payloads.examples import TextPatterns
    from headatlas.web.api.payloads.probe import FoundHeads, SearchRequest
    from headatlas.web.compute.tsne_layouts import TsneResult

MAP_BYTES = 256 << 20  # of full maps that are kept
REDUCED_BYTES = 64 << 20  # of pooled maps of custom texts that are kept
PATTERNS = 256  # custom texts whose patterns are kept
SEARCHES = 64  # over heads that are remembered, and their results
TSNE_BYTES = 64 << 20  # of layouts that are kept
CUSTOM_TEXTS = 64  # that are remembered
Maps = dict[int, "U16"]  # by layer: (head, query, key)
Result = TypeVar("Result")


@dataclass(frozen=True)
class Reduced:
    """What `collect` would store for a custom text: pooled maps (layer, head, r, r), statistics (layer, head, stat)."""

    pooled: NDArray[Any]
    stats: NDArray[Any]

    @property
    def nbytes(self) -> int:
        """Its size in memory."""
        return int(self.pooled.nbytes + self.stats.nbytes)


class ModelRunner:
    """Computes what the atlas does not hold. `model` is used in place of the atlas's; the name of one is loaded."""

    def __init__(self, model: str | Model | None = None) -> None:
        self.loader, self.jobs = ModelLoader(model), JobQueue()
        self.maps: LRUCache[Maps] = LRUCache(MAP_BYTES, lambda maps: sum(layer.nbytes for layer in maps.values()))
        self.reduced: LRUCache[Reduced] = LRUCache(REDUCED_BYTES, lambda reduced: reduced.nbytes)
        self.patterns: LRUCache[TextPatterns] = LRUCache(PATTERNS, lambda patterns: 1)
        self.tsne: LRUCache[TsneResult] = LRUCache(TSNE_BYTES, lambda result: result.nbytes)
        self.searches: LRUCache[SearchRequest] = LRUCache(SEARCHES, lambda request: 1)
        self.found_heads: LRUCache[FoundHeads] = LRUCache(SEARCHES, lambda heads: 1)
        self._texts: OrderedDict[str, Encoded] = OrderedDict()
        self._warm = False

    def submit(self, cache: LRUCache[Result], key: Hashable, work: Callable[[Job], Result]) -> Job:
        """The job that computes a result and adds it to a cache."""

        def compute(job: Job) -> Result:
            result = cache.get(key) or work(job)
            cache.put(key, result)
            return result

        return self.jobs.submit(key, compute)

    def text(self, key: str) -> Encoded | None:
        """A custom text that was read before."""
        return self._texts.get(key)

    def remember(self, key: str, text: Encoded) -> None:
        """Keep a custom text; the oldest are forgotten."""
        self._texts[key] = text
        self._texts.move_to_end(key)
        while len(self._texts) > CUSTOM_TEXTS:
            self._texts.popitem(last=False)

    def warm_up(self) -> None:
        """Import what forward passes need, which takes seconds, when one is likely to come; load no model yet."""
        if not self._warm:
            self._warm = True
            self.jobs.start(importlib.import_module, "headatlas.web.compute.forward")

    def close(self) -> None:
        """Cancel everything."""
        self.jobs.close()
