"""The newest things that were asked for: a bounded mapping that any thread may use."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Cache(Generic[K, V]):
    """At most ``limit`` values by key; the one that nobody asked for longest goes first."""

    def __init__(self, limit: int, make: Callable[[K], V]) -> None:
        self._limit, self._make = limit, make
        self._found: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def __getitem__(self, key: K) -> V:
        with self._lock:
            if key not in self._found:
                self._found[key] = self._make(key)
            self._found.move_to_end(key)
            while len(self._found) > self._limit:
                self._found.popitem(last=False)
            return self._found[key]
