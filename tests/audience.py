"""Who watches a segment, and starts what is watched."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mosaic_worker.protocol import ENV_FASTLANE, ENV_SCRATCH

from mosaic_pipe.fastlane.reader import Frame, LaneStatus, Reader
from mosaic_pipe.fastlane.segment import Segment
from mosaic_pipe.supervise import guard

HERE = Path(__file__).parent / "fastlane"
PATIENCE = 300.0


class Audience:
    """Watches one segment from outside of the processes that are filmed."""

    def __init__(self, path: Path) -> None:
        self.reader = Reader(path)
        self.seen: dict[int, list[Frame]] = {lane: [] for lane in self.reader.lanes}

    def watch_until(self, what: Callable[[], Any], seconds: float = PATIENCE) -> Any:
        """Look at every frame until ``what`` gives something true."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.reader.want(self.reader.lanes)
            self.look()
            if found := what():
                return found
            time.sleep(0.005)
        raise AssertionError(f"watched {seconds} s in vain: {[self.status(lane) for lane in self.reader.lanes]}")

    def look(self) -> None:
        for lane, frames in self.seen.items():
            if frame := self.reader.frame(lane, frames[-1].number if frames else 0):
                frames.append(frame)

    def status(self, lane: int = 0) -> LaneStatus:
        return self.reader.status(lane)

    def claimed(self) -> list[int]:
        return [lane for lane in self.reader.lanes if self.status(lane).claimed]

    def wait_until(self, what: Callable[[], Any], seconds: float = PATIENCE) -> Any:
        """As :meth:`watch_until`, with eyes shut."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if found := what():
                return found
            time.sleep(0.01)
        raise AssertionError(f"waited {seconds} s in vain: {[self.status(lane) for lane in self.reader.lanes]}")


class Stage:
    """A segment, and processes that know of it as a worker's do."""

    def __init__(self, segment: Segment, scratch: Path) -> None:
        self.segment, self.scratch = segment, scratch
        self.audience = Audience(segment.path)
        self.started: list[subprocess.Popen[str]] = []

    def start(self, *command: str, variables: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        """Run ``command``, in a session of its own."""
        ours = {ENV_FASTLANE: str(self.segment.path), ENV_SCRATCH: str(self.scratch), **(variables or {})}
        process = subprocess.Popen(
            command, env={**os.environ, **ours}, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        self.started.append(process)
        return process

    def act(self, kind: str, count: int = 1, **variables: str) -> subprocess.Popen[str]:
        """Environments of ``actor.py``, which print how far they are."""
        return self.start(sys.executable, str(HERE / "actor.py"), kind, str(count), variables=variables)

    def close(self) -> None:
        for process in self.started:
            guard.kill_attempt("no token", process.pid)
            process.communicate()
        self.audience.reader.close()
        self.segment.remove()
