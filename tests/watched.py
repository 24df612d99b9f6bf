"""A run that this process looks after, as far as its watchers can tell: its directory, and its segment."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec
from ulid import ULID

from mosaic_pipe.fastlane.segment import Segment
from mosaic_pipe.spec.schema import FastlaneSpec
from mosaic_pipe.store.attempts import Owner, take_attempt, this_owner
from mosaic_pipe.store.manifest import Attempt, Manifest
from mosaic_pipe.store.run_dir import RunDir
from mosaic_pipe.store.runs import Runs
from mosaic_pipe.store.states import State

T = TypeVar("T")
GOLDEN = Path(__file__).parent / "golden" / "manifest-v1.json"


@dataclass
class Watched:
    """``segment``: of the newest attempt; there is none with ``fastlane=off``."""

    outputs: Path
    run: RunDir
    manifest: Manifest
    segment: Segment | None = None

    def begin(self, owner: Owner | None = None) -> None:
        """Begin another attempt."""
        self.remove_segment()
        number = len(self.manifest.attempts) + 1
        owner = owner or this_owner()
        assert take_attempt(self.run, number, owner)
        if self.manifest.spec.fastlane.mode != "off":
            self.segment = Segment(self.manifest.run_id, number, self.manifest.spec.fastlane)
        attempt = Attempt(number, owner.host, owner.pid, owner.pid_started, owner.pid_mark, time.time())
        self.manifest.attempts.append(attempt)
        self.say(State.RUNNING)

    def say(self, state: State) -> None:
        """Write the manifest."""
        self.manifest.state = state
        self.run.write_manifest(self.manifest)

    def remove_segment(self) -> None:
        if self.segment:
            self.segment.remove()
        self.segment = None

    @property
    def path(self) -> Path:
        assert self.segment is not None
        return self.segment.path


@contextmanager
def watched(outputs: Path, fastlane: FastlaneSpec) -> Iterator[Watched]:
    """A run in its first attempt."""
    manifest = msgspec.json.decode(GOLDEN.read_bytes(), type=Manifest)
    manifest.run_id = str(ULID())
    manifest.spec = msgspec.structs.replace(manifest.spec, run_id=manifest.run_id, fastlane=fastlane)
    manifest.attempts, manifest.failure = [], None
    run = Watched(outputs, Runs(outputs).new(manifest.run_id), manifest)
    try:
        run.begin()
        yield run
    finally:
        run.remove_segment()


def soon(look: Callable[[], T | None], seconds: float = 120.0) -> T:
    """What ``look`` gives once it gives something."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.01)
    raise AssertionError(f"waited {seconds} s in vain")
