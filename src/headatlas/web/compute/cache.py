"""A cache in memory with a limit in bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from typing import Generic, TypeVar

Value = TypeVar("Value")
MOST_LOCKS = 1000


class LRUCache(Generic[Value]):
    """Values by key within a limit of bytes; the least recently used are dropped first.

    >>> cache = LRUCache(10, len)
    >>> for word in ("apple", "fig", "plum"):
    ...     cache.put(word, word)
    >>> [cache.get(word) for word in ("apple", "fig", "plum")]
    [None, 'fig', 'plum']
    """

    def __init__(self, limit: int, size: Callable[[Value], int]) -> None:
        self.limit, self._size, self._total = limit, size, 0
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._lock = threading.Lock()
        self._locks: dict[Hashable, threading.Lock] = {}

    def get(self, key: Hashable) -> Value | None:
        """A value, if it is still in the cache."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: Hashable, value: Value) -> None:
        """Add a value, and drop others to make room. A value larger than the limit is not added."""
        with self._lock:
            old = self._values.pop(key, None)
            self._total -= 0 if old is None else self._size(old)
            if self._size(value) > self.limit:
                return
            self._values[key] = value
            self._total += self._size(value)
            while self._total > self.limit:
                _, dropped = self._values.popitem(last=False)
                self._total -= self._size(dropped)

    def lock(self, key: Hashable) -> AbstractContextManager[object]:
        """A lock to hold while a value is made, so that concurrent requests do not make it twice."""
        with self._lock:
            if len(self._locks) > MOST_LOCKS:
                self._locks = {key: lock for key, lock in self._locks.items() if lock.locked()}
            return self._locks.setdefault(key, threading.Lock())
