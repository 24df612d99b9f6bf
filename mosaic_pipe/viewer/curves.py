"""The learning curves of runs, for everybody who looks at them: each file of events is read once, as it grows."""

from __future__ import annotations

import threading
import time
from typing import Any

from mosaic_pipe.store.attempts import newest_attempt
from mosaic_pipe.store.run_dir import RunDir
from mosaic_pipe.telemetry.curves import Curves, Drawn, decoder
from mosaic_pipe.telemetry.reader import Reader
from mosaic_pipe.telemetry.series import Series

BUCKETS = 400
"""Points of a curve."""


class RunCurves:
    """The curves of one run as far as it has come. Any thread may ask.

    Args:
        run: whose.
        only: keep no other metric than this one.
        buckets: points of a curve at most.
    """

    def __init__(self, run: RunDir, only: str | None = None, buckets: int = BUCKETS) -> None:
        self._run = run
        self._curves = Curves(buckets, only)
        self._attempt = 0
        self._reader: Reader[Drawn] | None = None
        self._lock = threading.Lock()
        self.read_at = 0.0
        """When all that was there had been read, by the monotonic clock; 0: never yet."""

    def update(self) -> None:
        """Read what is new."""
        with self._lock:
            if self._reader:
                self._curves.feed(self._reader.read())
            while self._attempt < newest_attempt(self._run):
                self._attempt += 1
                self._reader = Reader(self._run.events_file(self._attempt), decoder)
                self._curves.feed(self._reader.read())
            self.read_at = time.monotonic()

    def names(self) -> set[str]:
        """All metrics that the run has, kept or not."""
        with self._lock:
            return set(self._curves.names)

    def series(self, name: str) -> Series | None:
        """A copy of one series; None: the run has none."""
        with self._lock:
            found = self._curves.series.get(name)
            return found.copy() if found else None

    def as_json(self) -> dict[str, Any]:
        """All of it, for a chart."""
        with self._lock:
            series = sorted(self._curves.series.items())
            return {
                "stages": [{"name": one.name or one.env_id, "step": one.env_steps} for one in self._curves.stages],
                "series": {name: drawn(one) for name, one in series if one.buckets},
            }


def drawn(series: Series) -> dict[str, list[float]]:
    """A series as a chart wants it."""
    points = series.points()
    return {
        "x": points.x,
        "y": rounded(points.mean),
        "low": rounded(points.low),
        "high": rounded(points.high),
    }


def rounded(values: list[float]) -> list[float]:
    """Six digits: nobody sees more, and every page load carries them."""
    return [float(f"{value:.6g}") for value in values]
