"""What a library put into shared memory goes with its worker."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from mosaic_pipe.supervise.process import WorkerProcess
from mosaic_pipe.supervise.start import Start, spawn

PROGRAM = """
import sys, time
from multiprocessing.shared_memory import SharedMemory
print(SharedMemory(create=True, size=100).name, flush=True)
time.sleep(60 if sys.argv[1] == "wait" else 0)
"""


@pytest.mark.parametrize("end", ["end", "wait"])
def test_shared_memory_is_unlinked_however_the_worker_ends(end: str, tmp_path: Path) -> None:
    events = tmp_path / "events"
    start = Start(
        program=[sys.executable, "-c", PROGRAM],
        arguments=[end],
        variables=dict(os.environ),
        cores=None,
        folder=tmp_path,
        events=events,
        log=tmp_path / "log",
    )
    process = WorkerProcess(start, 1, spawn, None)
    while not events.read_text():
        time.sleep(0.01)
    if end == "wait":
        process.kill()
    process.reap()
    assert not Path("/dev/shm", events.read_text().strip()).exists()
