"""What a live frame costs the process that shows it, how old frames are when they are seen, and whether any is torn.

    .venv/bin/python scripts/bench/fastlane.py
    .venv/bin/python scripts/bench/fastlane.py --reads 10000000

Goals: CPU time of a frame at most 1.2 times that of copying its bytes, plus 5 µs, alone and with a reader that looks
240 times a second; more frames a second, and younger ones at 60 a second, than upstream's buffer on such a machine:
49,300 / 3,180 / 374 frames a second, 2.4 / 3.3 / 7.8 ms. Medians over interleaved rounds. Plain copies are measured
beside a process that copies such a frame of its own 240 times a second, too: cores share memory and its caches.

With ``--reads`` a process writes frames of changing sizes into two lanes in turn, as fast as it can, and two others,
which share a core, read both lanes, so many times together. Each frame carries a sum over its pixels and its size in
its metrics: none may be torn, nor any header, and none may come after a later one.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import statistics
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Event
from pathlib import Path

from mosaic_worker.fastlane.lane import Lane
from mosaic_worker.fastlane.segment import Segment as Attached
from ulid import ULID

from mosaic_pipe.fastlane.reader import Frame, Reader
from mosaic_pipe.fastlane.segment import Segment
from mosaic_pipe.spec.schema import FastlaneSpec

Size = tuple[int, int, int]
SIZES = [(84, 84, 3), (480, 640, 3), (1080, 1920, 3)]
UPSTREAM = {(84, 84, 3): (49_300, 2.4), (480, 640, 3): (3_180, 3.3), (1080, 1920, 3): (374, 7.8)}
READER_HZ = 240
AGE_HZ = 60
LANES = 2

processes = multiprocessing.get_context("fork")


@contextmanager
def segment(max_dim: int) -> Iterator[Path]:
    made = Segment(str(ULID()), 1, FastlaneSpec(max_dim=max_dim, grid_limit=LANES))
    try:
        yield made.path
    finally:
        made.remove()


def claim(path: Path) -> Lane:
    lane = Attached(str(path)).claim("bench")
    assert lane is not None
    return lane


@contextmanager
def running(work: Callable[..., None], path: Path, *arguments: object) -> Iterator[None]:
    """While this lasts, another process does ``work``; it says when it has begun, and is told when it is over."""
    begun, over = processes.Event(), processes.Event()
    process = processes.Process(target=work, args=(path, begun, over, *arguments), daemon=True)
    process.start()
    assert begun.wait(60)
    try:
        yield
    finally:
        over.set()
        process.join()


def _read(path: Path, begun: Event, over: Event) -> None:
    reader, newest = Reader(path), 0
    begun.set()
    for _ in ticks(READER_HZ):
        if over.is_set():
            return
        frame = reader.frame(0, newest)
        newest = frame.number if frame else newest


def _copy(path: Path, begun: Event, over: Event, size: int) -> None:
    pixels = memoryview(os.urandom(size))
    begun.set()
    for _ in ticks(READER_HZ):
        if over.is_set():
            return
        pixels.tobytes()


def seconds_of(work: Callable[[], object], seconds: float) -> tuple[float, float]:
    """Seconds, and seconds of CPU time, that one call of ``work`` takes."""
    wall, cpu, count = time.perf_counter(), time.thread_time(), 0
    while time.perf_counter() - wall < seconds:
        for _ in range(8):
            work()
        count += 8
    return (time.perf_counter() - wall) / count, (time.thread_time() - cpu) / count


def cost(size: Size, rounds: int, seconds: float) -> None:
    pixels = os.urandom(size[0] * size[1] * size[2])
    copy = memoryview(bytearray(len(pixels)))

    def memcpy() -> None:
        copy[:] = pixels

    with segment(max(size[:2])) as path:
        lane = claim(path)

        def write() -> None:
            lane.wanted()
            lane.write(pixels, *size, 1.0, 2.0, 3.0)

        reader = Reader(path)  # kept open: closing any descriptor of the file would give up the lane
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in ("copy", "alone", "copy beside", "read")}
        for _ in range(rounds):
            reader.want([0], 3600)
            found["copy"].append(seconds_of(memcpy, seconds))
            found["alone"].append(seconds_of(write, seconds))
            with running(_copy, path, len(pixels)):
                found["copy beside"].append(seconds_of(memcpy, seconds))
            with running(_read, path):
                found["read"].append(seconds_of(write, seconds))
        report(size, found)


def report(size: Size, found: dict[str, list[tuple[float, float]]]) -> None:
    wall = {name: statistics.median(wall for wall, _ in times) for name, times in found.items()}
    cpu = {name: statistics.median(cpu for _, cpu in times) for name, times in found.items()}
    print(f"{size[1]}x{size[0]}x{size[2]}", flush=True)
    for name in found:
        print(f"  {name:<14} {1 / wall[name]:>11,.0f} frames/s {1e6 * cpu[name]:>9.1f} µs of CPU a frame")
    alone, beside = (1.2e6 * cpu[name] + 5 for name in ("copy", "copy beside"))
    print(f"  {'goal':<14} {alone:>30.1f} µs alone, {beside:.1f} µs beside another's copies")
    print(f"  {'upstream alone':<14} {UPSTREAM[size][0]:>11,} frames/s", flush=True)


def age(size: Size, seconds: float) -> list[float]:
    """Ages, in seconds, of frames that are written 60 times a second, where a reader looks 240 times a second."""
    with segment(max(size[:2])) as path, running(_write_slowly, path, size):
        reader, newest = Reader(path), 0
        ages: list[float] = []
        reader.want([0], 3600)
        end = time.perf_counter() + seconds
        for _ in ticks(READER_HZ + 1.7):  # not a multiple of the writer's: all phases are met
            if time.perf_counter() > end:
                return ages
            if frame := reader.frame(0, newest):
                newest = frame.number
                ages.append(frame.age)
    return ages


def _write_slowly(path: Path, begun: Event, over: Event, size: Size) -> None:
    pixels, lane = os.urandom(size[0] * size[1] * size[2]), claim(path)
    begun.set()
    for _ in ticks(AGE_HZ):
        if over.is_set():
            return
        lane.write(pixels, *size)


def ticks(hertz: float) -> Iterator[None]:
    """So many times a second."""
    due = time.perf_counter()
    while True:
        yield
        due = max(due + 1 / hertz, time.perf_counter() - 1 / hertz)
        time.sleep(max(0.0, due - time.perf_counter()))


def torn(reads: int) -> int:
    """How many of ``reads`` reads were not of one whole frame, or of an earlier one than the last."""
    counts: SimpleQueue[Counter[str]] = processes.SimpleQueue()
    with segment(64) as path, running(_write_fast, path):
        begun = time.perf_counter()
        readers = [processes.Process(target=_check, args=(path, reads // 2, counts)) for _ in range(2)]
        for reader in readers:
            reader.start()
        total = counts.get() + counts.get()
        for reader in readers:
            reader.join()
    took = time.perf_counter() - begun
    print(f"{total['read']:,} reads in {took:.0f} s, of {total['different']:,} frames; {total['torn']} torn; ", end="")
    print(f"{total['earlier']} after a later one; {total['none']:,} times there was none")
    return total["torn"] + total["earlier"]


def _write_fast(path: Path, begun: Event, over: Event) -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # so that it runs whenever a reader does
    segment, chance = Attached(str(path)), random.Random(os.getpid())
    lanes = [lane for _ in range(LANES) if (lane := segment.claim("bench"))]
    frames = []
    for _ in range(64):
        height, width, channels = chance.randint(1, 64), chance.randint(1, 64), chance.choice((1, 3))
        pixels = chance.randbytes(height * width * channels)
        metrics = float(zlib.crc32(pixels)), float(height * 1000 + width), float(channels)
        frames.append((pixels, height, width, channels, *metrics))
    begun.set()
    while not over.is_set():
        for frame in frames:
            for lane in lanes:
                lane.write(*frame)


def _check(path: Path, reads: int, counts: SimpleQueue[Counter[str]]) -> None:
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    reader, count, newest = Reader(path), Counter[str](), [0] * LANES
    sizes: list[dict[int, tuple[int, int, int]]] = [{} for _ in range(LANES)]
    while count["read"] < reads:
        lane = count["read"] % LANES
        frame = reader.frame(lane)
        if frame is None:
            count["none"] += 1
            continue
        count["read"] += 1
        count["different"] += frame.number != newest[lane]
        size = frame.height, frame.width, frame.channels
        count["torn"] += not (_is_whole(frame) and sizes[lane].setdefault(frame.generation, size) == size)
        count["earlier"] += frame.number < newest[lane]
        newest[lane] = frame.number
        if len(sizes[lane]) > 1000:
            sizes[lane].clear()
    counts.put(count)


def _is_whole(frame: Frame) -> bool:
    metrics = float(zlib.crc32(frame.pixels)), float(frame.height * 1000 + frame.width), float(frame.channels)
    size = frame.height * frame.width * frame.channels
    return (frame.last_reward, frame.rolling_return, frame.step_rate_hz) == metrics and len(frame.pixels) == size


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--reads", type=int, help="look for torn frames instead")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each measurement (default: 0.3)")
    options = parser.parse_args()
    if options.reads:
        return 1 if torn(options.reads) else 0
    print(f"load average before: {os.getloadavg()[0]:.1f}")
    for size in SIZES:
        cost(size, options.rounds, options.seconds)
    ages: dict[Size, list[float]] = {size: [] for size in SIZES}
    for _ in range(options.rounds):
        for size in SIZES:
            ages[size].append(statistics.median(age(size, 10 * options.seconds)))
    for size in SIZES:
        name, ours = f"{size[1]}x{size[0]}x{size[2]}", 1e3 * statistics.median(ages[size])
        print(f"{name}: {ours:.1f} ms old at {AGE_HZ} frames/s; upstream's: {UPSTREAM[size][1]} ms")
    print(f"load average after: {os.getloadavg()[0]:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
