"""A number over steps, in bounded memory: means of buckets, which grow as the run does."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec


class Bucket(msgspec.Struct, gc=False):
    """What fell into one stretch of steps."""

    count: int
    total: float
    low: float
    high: float

    def merge(self, other: Bucket) -> None:
        """Take ``other`` in."""
        self.count, self.total = self.count + other.count, self.total + other.total
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)


@dataclass
class Points:
    """A series to draw: step of each bucket's middle, mean, lowest and highest value."""

    x: list[float]
    mean: list[float]
    low: list[float]
    high: list[float]


class Series:
    """Finite values by step, in at most ``limit`` buckets of one width, a power of two steps."""

    def __init__(self, limit: int) -> None:
        self.width = 1
        self.buckets: dict[int, Bucket] = {}
        self._limit = limit

    def add(self, step: int, value: float) -> None:
        """Put one value in."""
        index = step // self.width
        bucket = self.buckets.get(index)
        if bucket is None:
            self.buckets[index] = Bucket(1, value, value, value)
            while len(self.buckets) > self._limit:
                self.widen(self.width * 2)
            return
        bucket.count += 1
        bucket.total += value
        bucket.low, bucket.high = min(bucket.low, value), max(bucket.high, value)

    def widen(self, width: int) -> None:
        """Make buckets ``width`` steps wide, a power of two times what they are."""
        factor, buckets = width // self.width, self.buckets
        self.width, self.buckets = width, {}
        for index, bucket in buckets.items():
            if (wider := self.buckets.setdefault(index // factor, bucket)) is not bucket:
                wider.merge(bucket)

    def cut(self, step: int) -> None:
        """Forget what came after ``step``."""
        self.buckets = {index: one for index, one in self.buckets.items() if index * self.width <= step}

    def copy(self) -> Series:
        """Another one with the same buckets, which this one does not change."""
        copied = Series(self._limit)
        copied.width = self.width
        copied.buckets = {index: msgspec.structs.replace(one) for index, one in self.buckets.items()}
        return copied

    def points(self) -> Points:
        """What there is, by step."""
        rows = [(self.middle(index), one) for index, one in sorted(self.buckets.items())]
        return Points(
            [x for x, _ in rows],
            [one.total / one.count for _, one in rows],
            [one.low for _, one in rows],
            [one.high for _, one in rows],
        )

    def middle(self, index: int) -> float:
        """Step of the middle of a bucket."""
        return (index + 0.5) * self.width if self.width > 1 else float(index)
