"""Microseconds to emit an event, and lines read, validated and folded a second; best of many repeats, one core.

Goals: at most 5 µs, at least 250,000 lines a second.

    .venv/bin/python scripts/bench/telemetry.py
"""

from __future__ import annotations

import os
import tempfile
import time
import timeit
from pathlib import Path

from mosaic_worker.emitter import Emitter

from mosaic_pipe.telemetry.fold import Fold
from mosaic_pipe.telemetry.reader import EventReader

EPISODE = {"env_steps": 123456, "episode_return": 200.0, "episode_length": 200, "wall_time": 12.345678}
LOSSES = ("value_loss", "policy_loss", "entropy", "old_approx_kl", "approx_kl", "clipfrac", "explained_variance")
METRICS = {"env_steps": 123456, "wall_time": 12.3, "sps": 2400.5, **{f"losses/{name}": 0.123456789 for name in LOSSES}}


def emit_seconds(event: str, payload: dict[str, float]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        fd = os.open(Path(folder, "events.jsonl"), os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        emitter = Emitter(fd, "01ARZ3NDEKTSV4RRFFQ69G5FAV", 1)
        best = min(timeit.repeat(lambda: emitter.emit(event, payload), number=1000, repeat=200)) / 1000
        os.close(fd)
    return best


def folded_a_second(lines: int = 300_000) -> tuple[float, float]:
    """Lines a second, and bytes a line, of a mix of nine episodes to one metrics event."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "events.jsonl")
        fd = os.open(file, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        emitter = Emitter(fd, "01ARZ3NDEKTSV4RRFFQ69G5FAV", 1)
        for number in range(lines):
            emitter.emit(*(("metrics", METRICS) if number % 10 == 0 else ("episode", EPISODE)))
        os.close(fd)
        best = 0.0
        for _ in range(5):
            begun = time.perf_counter()
            folded = Fold().feed(EventReader(file).read(final=True))
            assert folded == lines
            best = max(best, folded / (time.perf_counter() - begun))
        return best, file.stat().st_size / lines


def main() -> None:
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    for event, payload in (("episode", EPISODE), ("metrics", METRICS)):
        print(f"emit {event} ({len(payload)} numbers): {1e6 * emit_seconds(event, payload):.2f} µs")
    speed, size = folded_a_second()
    print(f"read, validated and folded: {speed:,.0f} lines a second ({size:.0f} bytes a line)")


if __name__ == "__main__":
    main()
