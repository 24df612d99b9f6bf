"""Reading the frames of a run on this machine, without ever holding up who writes them."""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mosaic_worker.fastlane import layout
from mosaic_worker.fastlane.fence import Fence

WISH_SECONDS = 1.5
"""How long a wish holds; one that is renewed every half a second holds on."""
_TRIES = 8
_PATIENCE = 1e-3
"""Seconds to wait for a frame that is being written: copying a large one takes half of that."""
_FLOCK = struct.Struct("hhqqi4x")  # struct flock of fcntl(2)


@dataclass(frozen=True)
class Frame:
    """A frame of one environment, and what was known when it was taken; NaN: not known."""

    lane: int
    label: str
    number: int
    generation: int
    """Changes with the size."""
    age: float
    """Seconds since it was written."""
    height: int
    width: int
    channels: int
    """3: RGB; 1: gray."""
    pixels: bytes
    """Rows from the top, ``channels`` bytes a pixel."""
    last_reward: float
    rolling_return: float
    step_rate_hz: float


@dataclass(frozen=True)
class LaneStatus:
    """Whether an environment holds a lane; what it is called; why it shows nothing, empty where it does."""

    claimed: bool
    label: str
    note: str


class Reader:
    """An attached segment. One thread at a time.

    Attached as a file, so that nothing tracks it: that this process ends is nobody else's concern.
    """

    def __init__(self, path: Path) -> None:
        """Attach.

        Raises:
            FileNotFoundError: there is none: the attempt has ended, is on another machine, or shows no frames.
            OSError: it is no segment of this version, or somebody else's.
        """
        self._fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            layout.check_byte_order()
            self._memory = mmap.mmap(self._fd, 0)
        except (OSError, ValueError) as error:
            os.close(self._fd)
            raise OSError(f"{path} is no segment: {error}") from error
        self._bytes = memoryview(self._memory)
        self._words, self._reals = self._bytes.cast("Q"), self._bytes.cast("d")
        if self._bytes[:8] != layout.MAGIC or self._words[layout.VERSION_AT >> 3] != layout.VERSION:
            self.close()
            raise OSError(f"{path} is no segment of this version")
        self._capacity = self._words[layout.CAPACITY_AT >> 3]
        shown, lanes = self._bytes.cast("q")[layout.SHOWN_AT >> 3], self._words[layout.LANES_AT >> 3]
        self.lanes = range(lanes) if shown < 0 else range(shown, shown + 1)
        """Numbers of the lanes that are to be shown."""
        self._fence = Fence()

    def want(self, lanes: Iterable[int], seconds: float = WISH_SECONDS) -> None:
        """Somebody watches ``lanes``, for ``seconds`` from now."""
        until = time.monotonic_ns() + int(seconds * 1e9)
        for lane in lanes:
            at = (layout.lane_at(lane, self._capacity) + layout.WANTED_AT) >> 3
            self._words[at] = max(until, self._words[at])

    def frame(self, lane: int, after: int = 0) -> Frame | None:
        """The newest whole frame of ``lane``; None where its number is not above ``after`` or it stays unfinished."""
        at = layout.lane_at(lane, self._capacity)
        newest, looked = (at + layout.NEWEST_AT) >> 3, (at + layout.LOOKED_AT) >> 3
        for _ in range(_TRIES):
            self._words[looked] = time.monotonic_ns()  # from its next frame on, the writer leaves the newest alone
            number = self._words[newest]
            if number <= after or not self._is_finished(layout.slot_at(lane, number, self._capacity)):
                return None
            number = self._words[newest]
            frame = self._copy(lane, layout.slot_at(lane, number, self._capacity))
            if frame and frame.number == number:  # a later one in that slot: the writer is about to call it the newest
                return frame
        return None

    def status(self, lane: int) -> LaneStatus:
        """What is known of ``lane``."""
        at = layout.lane_at(lane, self._capacity)
        label, note = self._texts(at)
        return LaneStatus(self._is_held(at), label, note)

    def close(self) -> None:
        """Detach."""
        self._reals.release()
        self._words.release()
        self._bytes.release()
        self._memory.close()
        os.close(self._fd)

    def _is_finished(self, at: int) -> bool:
        """Whether the slot at ``at`` is whole, or is soon."""
        deadline = time.monotonic() + _PATIENCE
        while self._words[at >> 3] & 1:
            if time.monotonic() > deadline:
                return False
            time.sleep(0)  # its writer may need this core
        return True

    def _copy(self, lane: int, at: int) -> Frame | None:
        """What the slot at ``at`` holds; None where it is being written."""
        words, slot = self._words, at >> 3
        sequence = words[slot]
        if sequence & 1:
            return None
        self._fence.cross()
        _, number, written, generation, height, width, channels = words[slot : slot + 7]
        metrics = self._reals[slot + 7 : slot + 10].tolist()
        begin, size = at + layout.PIXELS_AT, height * width * channels
        if size > self._capacity:
            return None
        pixels = self._bytes[begin : begin + size].tobytes()
        self._fence.cross()
        if words[slot] != sequence:
            return None
        age = (time.monotonic_ns() - written) / 1e9
        label, _ = self._texts(layout.lane_at(lane, self._capacity))
        return Frame(lane, label, number, generation, age, height, width, channels, pixels, *metrics)

    def _texts(self, at: int) -> tuple[str, str]:
        """Label and note of the lane at ``at``; as they are where they change all the time."""
        for _ in range(_TRIES):
            sequence = self._words[(at + layout.TEXT_SEQUENCE_AT) >> 3]
            self._fence.cross()
            label = self._text(at + layout.LABEL_AT, layout.LABEL_BYTES)
            note = self._text(at + layout.NOTE_AT, layout.NOTE_BYTES)
            self._fence.cross()
            if not sequence & 1 and sequence == self._words[(at + layout.TEXT_SEQUENCE_AT) >> 3]:
                break
        return label, note

    def _text(self, at: int, room: int) -> str:
        return self._bytes[at : at + room].tobytes().rstrip(b"\0").decode("utf-8", "replace")

    def _is_held(self, at: int) -> bool:
        """Whether a living process holds the lane: its lock goes with it."""
        asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, at, 1, 0)
        return bool(_FLOCK.unpack(fcntl.fcntl(self._fd, fcntl.F_GETLK, asked))[0] != fcntl.F_UNLCK)
