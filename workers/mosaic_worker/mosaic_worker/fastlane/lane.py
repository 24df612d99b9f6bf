"""Writing the frames of one environment."""

import math
import mmap
import os
import sys
import time
import weakref
from pathlib import Path
from typing import Any, Callable

from mosaic_worker.fastlane import layout
from mosaic_worker.fastlane.fence import Fence


class Lane:
    """One lane, held by this process until :meth:`release`. One thread at a time.

    Every slot has a sequence number that is odd while the slot is written. A reader copies a slot and looks at its
    sequence before and after: if it was even and is the same, the copy is whole. Fences keep the stores in that order
    on every CPU. A slot that a reader may be copying is left alone, unless readers look faster than frames are copied.
    """

    def __init__(
        self, memory: mmap.mmap, descriptor: int, lane: int, capacity: int, label: str, give_back: Callable[[int], None]
    ) -> None:
        """Begin to use a lane that the caller has locked; :func:`mosaic_worker.fastlane.segment.claim` does."""
        self.number = lane
        self._fd, self._capacity, self._give_back = descriptor, capacity, give_back
        self._bytes = memoryview(memory)
        self._words, self._reals = self._bytes.cast("Q"), self._bytes.cast("d")
        self._at = layout.lane_at(lane, capacity)
        self._wanted = (self._at + layout.WANTED_AT) >> 3
        self.wish = self._words[self._wanted : self._wanted + 1]
        """Its first item is 0 while nobody watches: the cheapest look; :meth:`wanted` clears what has expired."""
        self._newest = (self._at + layout.NEWEST_AT) >> 3
        self._looked = (self._at + layout.LOOKED_AT) >> 3
        self._last_look = 0
        self._slots = [layout.slot_at(lane, number, capacity) for number in range(layout.SLOTS)]
        self._reserved = [0] * layout.SLOTS
        self._fence = Fence()
        self._frames = self._words[self._newest]  # numbers go on from those of an earlier holder
        newest = self._slots[self._frames % layout.SLOTS] >> 3
        self._generation = self._words[newest + (layout.GENERATION_AT >> 3)] if self._frames else 0
        self._shape = (0, 0, 0)
        self._describe(label, os.getpid(), _start_ticks())
        self._held = True
        _lanes.add(self)

    def __del__(self) -> None:
        if not sys.is_finalizing():  # then the kernel lets go of it
            self.release()

    def wanted(self) -> bool:
        """Whether somebody watches: one look at one integer while nobody does."""
        until = self._words[self._wanted]
        return until != 0 and self._still_wanted(until)

    def write(
        self,
        pixels: Any,
        height: int,
        width: int,
        channels: int,
        last_reward: float = math.nan,
        rolling_return: float = math.nan,
        step_rate_hz: float = math.nan,
    ) -> None:
        """Show a frame.

        Args:
            pixels: C-contiguous buffer of ``height * width * channels`` unsigned bytes, rows from the top.
            height: in pixels.
            width: in pixels.
            channels: 3 (RGB) or 1 (gray).
            last_reward: of the last step.
            rolling_return: smoothed return of episodes.
            step_rate_hz: steps a second.

        Raises:
            ValueError: the buffer is no such thing, or larger than a slot.
            OSError: shared memory is full.
        """
        source = memoryview(pixels).cast("B")
        size = len(source)
        shape = (height, width, channels)
        if size > self._capacity or size != height * width * channels or channels not in (1, 3):
            raise ValueError(f"{size} bytes for a frame of {shape}, at most {self._capacity}")
        if shape != self._shape:
            self._shape, self._generation = shape, self._generation + 1
        number = self._next_number()
        at = self._slots[number % layout.SLOTS]
        self._reserve(number % layout.SLOTS, size)
        words, reals, slot = self._words, self._reals, at >> 3
        sequence = words[slot] | 1  # odd already where an earlier holder was killed in the middle
        words[slot] = sequence
        self._fence.cross()
        words[slot + 1] = number  # in the order of the layout
        words[slot + 2] = time.monotonic_ns()
        words[slot + 3] = self._generation
        words[slot + 4], words[slot + 5], words[slot + 6] = shape
        reals[slot + 7], reals[slot + 8], reals[slot + 9] = last_reward, rolling_return, step_rate_hz
        begin = at + layout.PIXELS_AT
        self._bytes[begin : begin + size] = source
        self._fence.cross()
        words[slot] = sequence + 1
        words[self._newest] = self._frames = number

    def call(self, label: str) -> None:
        """Change what the environment is called."""
        self._change_text(layout.LABEL_AT, layout.LABEL_BYTES, label)

    def say(self, note: str) -> None:
        """Tell why there is no picture; empty: there is one again."""
        self._change_text(layout.NOTE_AT, layout.NOTE_BYTES, note)

    def release(self) -> None:
        """Let others have it; nothing is shown from now on."""
        if self._held:
            self._describe("", 0, 0)
            self.abandon()
            self._give_back(self.number)

    def abandon(self) -> None:
        """Show nothing from now on, and leave the lane as it is: it is another process's."""
        self._held = False
        self._wanted = layout.NOBODY_AT >> 3

    def _still_wanted(self, until: int) -> bool:
        if time.monotonic_ns() < until:
            return True
        self._words[self._wanted] = 0  # a reader that renews its wish at this moment does so again soon
        return False

    def _next_number(self) -> int:
        look = self._words[self._looked]
        if look == self._last_look and self._frames:
            return self._frames + layout.SLOTS
        self._last_look = look
        return self._frames + 1

    def _reserve(self, slot: int, size: int) -> None:
        """Have the file system set the pages aside: writing to one that it lacks would be SIGBUS."""
        if size > self._reserved[slot]:
            os.posix_fallocate(self._fd, self._slots[slot], layout.PIXELS_AT + size)
            self._reserved[slot] = size

    def _describe(self, label: str, pid: int, started: int) -> None:
        self._words[(self._at + layout.PID_AT) >> 3] = pid
        self._words[(self._at + layout.STARTED_AT) >> 3] = started
        self._change_text(layout.LABEL_AT, layout.LABEL_BYTES, label)
        self.say("")

    def _change_text(self, offset: int, room: int, text: str) -> None:
        sequence = (self._at + layout.TEXT_SEQUENCE_AT) >> 3
        odd = self._words[sequence] | 1
        self._words[sequence] = odd
        self._fence.cross()
        begin = self._at + offset
        self._bytes[begin : begin + room] = text.encode("utf-8", "replace")[:room].ljust(room, b"\0")
        self._fence.cross()
        self._words[sequence] = odd + 1


_lanes: "weakref.WeakSet[Lane]" = weakref.WeakSet()


def _start_ticks() -> int:
    # "pid (name) state ppid …": the name may hold spaces and parentheses
    return int(Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()[19])


def _after_fork() -> None:
    for lane in list(_lanes):
        lane.abandon()


os.register_at_fork(after_in_child=_after_fork)
