"""The bytes of a segment, which writer and reader agree on; docs/fastlane-segment.md shows them as tables.

A segment is a file in ``/dev/shm``: a header, then ``lanes`` lanes of equal size. A lane is what one environment shows:
a header of its own, then :data:`SLOTS` slots, each with a header and room for the pixels of one frame. A reader
marks that it looks; the writer leaves the newest frame to it and fills the next slot, and without a look since then
the same slot again: one that is in the caches takes a large frame in half the time.

All numbers are little-endian words of eight bytes at multiples of eight, which a CPU writes and reads whole. Constants
below are offsets in bytes, from the beginning of what they belong to.
"""

import sys

MAGIC = b"MOSAICFL"
VERSION = 1
PAGE = 4096
SLOTS = 3
PREFIX = "mosaic_fl_"
"""Beginning of a segment's file name; the rest is ``<run id>_<attempt>``."""
FOLDER = "/dev/shm"  # noqa: S108 - POSIX shared memory lies there; files are made with mode 0600

# The segment's header: written once, before anybody else sees the file. One page.
MAGIC_AT = 0
VERSION_AT = 8
LANES_AT = 16
SLOTS_AT = 24
SHOWN_AT = 32
"""Number of the one lane that readers show; -1: all."""
INTERVAL_AT = 40
"""Nanoseconds from a frame to the next at least."""
MAX_DIM_AT = 48
"""Pixels of a frame's longer side at most."""
CAPACITY_AT = 56
"""Bytes of pixels that a slot has room for."""
OWNER_PID_AT = 64
OWNER_STARTED_AT = 72
"""Of the supervisor, as below."""
NOBODY_AT = 80
"""Always 0."""

# A lane's header. One page, in which what readers write and what writers write lie in different cache lines.
WANTED_AT = 0
"""Until when somebody watches: CLOCK_MONOTONIC in nanoseconds; 0: nobody does. The writer sets it back."""
LOOKED_AT = 8
"""When a reader last looked for a frame: CLOCK_MONOTONIC in nanoseconds."""
NEWEST_AT = 64
"""Number of the newest whole frame, in slot ``number % SLOTS``; 0: none yet."""
TEXT_SEQUENCE_AT = 128
"""Odd while the texts below are being changed."""
PID_AT = 136
STARTED_AT = 144
"""Of the process that writes the lane: its start in clock ticks since boot, field 22 of /proc/PID/stat. 0: free."""
LABEL_AT = 160
LABEL_BYTES = 96
NOTE_AT = 256
NOTE_BYTES = 256
"""UTF-8, padded with zeros. The note tells why there is no picture."""

# A slot's header, then the pixels: rows from the top, ``channels`` bytes a pixel.
SEQUENCE_AT = 0
"""Odd while the slot is being written; even, and not what it was, afterwards."""
NUMBER_AT = 8
"""Of the frame, from 1; more than in the lane's earlier frames, by 1 in the next slot, by SLOTS in the same one."""
TIME_AT = 16
"""When it was written: CLOCK_MONOTONIC in nanoseconds."""
GENERATION_AT = 24
"""Changes whenever the size does."""
HEIGHT_AT = 32
WIDTH_AT = 40
CHANNELS_AT = 48
LAST_REWARD_AT = 56
ROLLING_RETURN_AT = 64
STEP_RATE_AT = 72
"""The three metrics are IEEE 754 doubles; NaN: not known."""
PIXELS_AT = 1024
"""Far from where arrays begin in their page, which is 16 or 64 bytes from its start: where source and target are a
little more than whole pages apart, each load waits for the store before it, and copying takes a tenth longer."""


def slot_stride(capacity: int) -> int:
    """Bytes from one slot to the next, where a slot has room for ``capacity`` bytes of pixels."""
    return -(-(PIXELS_AT + capacity) // PAGE) * PAGE


def lane_stride(capacity: int) -> int:
    """Bytes from one lane to the next."""
    return PAGE + SLOTS * slot_stride(capacity)


def lane_at(lane: int, capacity: int) -> int:
    """Where lane number ``lane`` begins."""
    return PAGE + lane * lane_stride(capacity)


def slot_at(lane: int, number: int, capacity: int) -> int:
    """Where the slot of the lane's frame ``number`` begins."""
    return lane_at(lane, capacity) + PAGE + number % SLOTS * slot_stride(capacity)


def check_byte_order() -> None:
    """Refuse a machine that cannot take the words as they are.

    Raises:
        OSError: it is big-endian.
    """
    if sys.byteorder != "little":
        raise OSError("live frames need a little-endian machine")
