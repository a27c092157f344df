"""Answers that are kept in memory, the latest used the longest, up to a number of bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Kept(Generic[Value]):
    """Values by key, within a limit of bytes.

    >>> kept = Kept(10, len)
    >>> for word in ("apple", "fig", "plum"):
    ...     kept.put(word, word)
    >>> [kept.get(word) for word in ("apple", "fig", "plum")]
    [None, 'fig', 'plum']
    """

    def __init__(self, limit: int, size: Callable[[Value], int]) -> None:
        self._limit, self._size, self._total = limit, size, 0
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._lock = threading.Lock()
        self._making: dict[Hashable, threading.Lock] = {}

    def get(self, key: Hashable) -> Value | None:
        """A value, if it is still there."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: Hashable, value: Value) -> None:
        """Keep a value; what was used longest ago makes room. A value larger than the limit is not kept."""
        with self._lock:
            old = self._values.pop(key, None)
            self._total -= 0 if old is None else self._size(old)
            if self._size(value) > self._limit:
                return
            self._values[key] = value
            self._total += self._size(value)
            while self._total > self._limit:
                _, gone = self._values.popitem(last=False)
                self._total -= self._size(gone)

    def making(self, key: Hashable) -> AbstractContextManager[object]:
        """Held while a value is made, so that two who ask at once do not make it twice."""
        with self._lock:
            if len(self._making) > 1000:
                self._making = {key: lock for key, lock in self._making.items() if lock.locked()}
            return self._making.setdefault(key, threading.Lock())
