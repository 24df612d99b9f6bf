"""A worker's process, whatever runs in it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mosaic_pipe.supervise.process import WorkerProcess
from mosaic_pipe.supervise.start import Start, spawn

SHARING = """
import sys, time
from multiprocessing.shared_memory import SharedMemory
print(SharedMemory(create=True, size=100).name, flush=True)
time.sleep(60 if sys.argv[1] == "wait" else 0)
"""
BUSY = """
import time
kept = b"x" * (100 << 20)
while time.process_time() < 0.5: pass
print("done", flush=True)
time.sleep(60)
"""


def start(folder: Path, program: str, *arguments: str) -> WorkerProcess:
    """A process that has said something."""
    started = Start(
        program=[sys.executable, "-c", program],
        arguments=arguments,
        variables=dict(os.environ),
        cores=None,
        folder=folder,
        events=folder / "events",
        log=folder / "log",
    )
    process = WorkerProcess(started, 1, spawn, None)
    while not started.events.read_text():
        time.sleep(0.01)
    return process


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[WorkerProcess]:
    process = start(tmp_path, BUSY)
    yield process
    process.kill()
    process.reap()


@pytest.mark.parametrize("end", ["end", "wait"])
def test_shared_memory_is_unlinked_however_the_worker_ends(end: str, tmp_path: Path) -> None:
    """What a library put there goes with its worker."""
    process = start(tmp_path, SHARING, end)
    if end == "wait":
        process.kill()
    process.reap()
    assert not Path("/dev/shm", (tmp_path / "events").read_text().strip()).exists()


def test_what_it_has_used_is_known_while_it_runs(busy: WorkerProcess) -> None:
    used = busy.used()
    assert used is not None
    seconds, megabytes = used
    assert 0.4 < seconds < 5
    assert 100 < megabytes < 400


def test_what_an_ended_one_has_used_cannot_be_seen(tmp_path: Path) -> None:
    process = start(tmp_path, SHARING, "end")
    assert process.wait(60)
    assert process.used() is None  # reaping it tells
    assert process.reap().cpu_seconds > 0
