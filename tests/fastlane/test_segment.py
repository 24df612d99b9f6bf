"""The shared memory itself: real writers in processes of their own, a reader here."""

from __future__ import annotations

import math
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mosaic_worker.fastlane import layout
from mosaic_worker.protocol import ENV_FASTLANE
from ulid import ULID

from mosaic_pipe.fastlane.reader import Frame, Reader
from mosaic_pipe.fastlane.segment import Segment, segment_path
from mosaic_pipe.spec.schema import FastlaneSpec

SMALL = FastlaneSpec(max_dim=64, grid_limit=3, interval_ms=20.0)
BEGIN = "import os, sys, time; from mosaic_worker.fastlane.segment import attach, claim; lane = claim('env 0');"


@pytest.fixture
def make() -> Iterator[Callable[..., Segment]]:
    made: list[Segment] = []

    def make(spec: FastlaneSpec = SMALL) -> Segment:
        made.append(Segment(str(ULID()), 1, spec))
        return made[-1]

    yield make
    for segment in made:
        segment.remove()


@pytest.fixture
def segment(make: Callable[..., Segment]) -> Segment:
    return make()


@pytest.fixture
def reader(segment: Segment) -> Iterator[Reader]:
    reader = Reader(segment.path)
    yield reader
    reader.close()


class Writer:
    """A process of a worker; it goes on when it is told to."""

    def __init__(self, segment: Segment, program: str, **variables: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", BEGIN + program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, ENV_FASTLANE: str(segment.path), **variables},
        )

    def says(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def end(self) -> str:
        said, _ = self.process.communicate("\n", timeout=60)
        assert self.process.returncode == 0
        return said.strip()


@pytest.fixture
def write(segment: Segment) -> Iterator[Callable[..., Writer]]:
    """Starts a writer of the segment."""
    writers: list[Writer] = []

    def write(program: str, **variables: str) -> Writer:
        writers.append(Writer(segment, program, **variables))
        return writers[-1]

    yield write
    for writer in writers:
        writer.process.kill()
        writer.process.communicate()


def test_a_frame_is_read_as_it_was_written(reader: Reader, write: Callable[..., Writer]) -> None:
    write("lane.write(bytes(range(60)), 4, 5, 3, 1.5, -2.0, 1e3); sys.stdin.read()")
    frame = soon(lambda: reader.frame(0))
    assert frame.pixels == bytes(range(60))
    assert (frame.height, frame.width, frame.channels) == (4, 5, 3)
    assert (frame.last_reward, frame.rolling_return, frame.step_rate_hz) == (1.5, -2.0, 1e3)
    assert (frame.lane, frame.label, frame.number) == (0, "env 0", 1)
    assert 0 < frame.age < 60
    assert reader.frame(0, after=1) is None
    assert reader.frame(1) is None


def test_a_changed_size_changes_the_generation(reader: Reader, write: Callable[..., Writer]) -> None:
    program = "[lane.write(bytes(h * h), h, h, 1) or print(h, flush=True) or sys.stdin.readline() for h in (8, 8, 64)]"
    writer = write(program)
    seen = []
    for _ in range(3):
        writer.says()
        frame = reader.frame(0)
        assert frame is not None
        seen.append((frame.number, frame.generation, frame.height, len(frame.pixels)))
        assert writer.process.stdin is not None
        writer.process.stdin.write("\n")
        writer.process.stdin.flush()
    assert seen == [(1, 1, 8, 64), (2, 1, 8, 64), (3, 2, 64, 4096)]


def test_what_is_looked_at_is_left_alone_and_what_nobody_looks_at_is_written_over(
    segment: Segment, reader: Reader, write: Callable[..., Writer]
) -> None:
    writer = write("""
for name in b"abc": lane.write(bytes([name]), 1, 1, 1)
input(print(flush=True))
for name in b"def": lane.write(bytes([name]), 1, 1, 1)""")
    writer.says()
    assert (frame := reader.frame(0)) and (frame.pixels, frame.number) == (b"c", 7)
    writer.end()
    slots = [layout.slot_at(0, number, 64 * 64 * 3) + layout.PIXELS_AT for number in (7, 8, 9)]
    assert [segment.path.read_bytes()[slot : slot + 1] for slot in slots] == [b"c", b"f", b"\0"]
    assert (frame := reader.frame(0, after=7)) and (frame.pixels, frame.number) == (b"f", 14)


def test_a_later_frame_than_the_newest_is_not_seen_before_it_is_the_newest(
    segment: Segment, reader: Reader, write: Callable[..., Writer]
) -> None:
    write("[lane.write(bytes(12), 2, 2, 3) for _ in range(2)]").end()
    with segment.path.open("r+b") as file:  # its writer stands between the slot and the lane's header
        file.seek(layout.PAGE + layout.NEWEST_AT)
        file.write(struct.pack("<Q", 1))
    assert reader.frame(0) is None


@pytest.mark.parametrize("frame", ["bytes(64 * 65 * 3), 64, 65, 3", "bytes(9), 3, 3, 3", "bytes(8), 2, 2, 2"])
def test_what_is_no_frame_is_refused_and_harms_nothing(write: Callable[..., Writer], frame: str) -> None:
    said = write(f"""
try: lane.write({frame})
except ValueError as error: print(error)
lane.write(bytes(3), 1, 1, 3)""").end()
    assert "bytes for a frame of" in said


def test_a_wish_is_seen_holds_for_its_time_and_is_set_back(
    segment: Segment, reader: Reader, write: Callable[..., Writer]
) -> None:
    writer = write("""
print(lane.wanted(), flush=True)
while not lane.wanted(): time.sleep(0.01)
begin = time.monotonic()
while lane.wanted(): time.sleep(0.001)
print(time.monotonic() - begin)""")
    assert writer.says() == "False"
    reader.want([0], 0.5)
    reader.want([0], 0.1)  # a shorter one takes nothing from it
    assert 0.2 < float(writer.end()) < 2
    with segment.path.open("rb") as file:
        file.seek(layout.PAGE + layout.WANTED_AT)
        assert file.read(8) == bytes(8)


def test_lanes_are_claimed_in_turn_by_any_process_until_none_is_left(
    reader: Reader, write: Callable[..., Writer]
) -> None:
    first = write("second = claim('env 1'); print(lane.number, second.number, flush=True); sys.stdin.read()")
    assert first.says() == "0 1"
    assert write("print(lane.number, claim('no room'))").end() == "2 None"
    statuses = [reader.status(lane) for lane in reader.lanes]
    assert [(status.claimed, status.label) for status in statuses[:2]] == [(True, "env 0"), (True, "env 1")]
    assert not statuses[2].claimed  # its process has ended


def test_the_lane_of_a_killed_process_is_anothers(reader: Reader, write: Callable[..., Writer]) -> None:
    killed = write("[lane.write(bytes(12), 2, 2, 3) for _ in range(2)]; print(flush=True); sys.stdin.read()")
    killed.says()
    killed.process.send_signal(signal.SIGKILL)
    killed.process.wait()
    assert not reader.status(0).claimed
    write("print(lane.number); lane.write(bytes(12), 2, 2, 3)").end()
    frame = reader.frame(0)
    assert frame is not None
    assert frame.number == 7  # who has seen 4, the last before, sees this one


def test_a_frame_that_was_never_finished_is_not_seen_and_the_next_one_is(
    segment: Segment, reader: Reader, write: Callable[..., Writer]
) -> None:
    write("lane.write(bytes(12), 2, 2, 3)").end()
    with segment.path.open("r+b") as file:  # killed in the middle: its sequence is odd
        slot = layout.slot_at(0, 1, 64 * 64 * 3)
        file.seek(slot)
        file.write(struct.pack("<Q", 7))
    assert reader.frame(0) is None
    write("lane.write(bytes(12), 2, 2, 3)").end()
    frame = reader.frame(0)
    assert frame is not None
    assert frame.number == 2


def test_a_released_lane_is_free_and_a_forgotten_one_too(write: Callable[..., Writer]) -> None:
    said = write("lane.release(); lane.release(); print(claim('b').number, claim('c').number)").end()
    assert said == "0 0"  # b was collected before c came


def test_a_fork_holds_no_lane_and_can_claim_its_own(reader: Reader, write: Callable[..., Writer]) -> None:
    reader.want(reader.lanes, 60)
    said = write("""
print(lane.wanted(), flush=True)
if os.fork() == 0:
    print(lane.wanted(), claim('child').number, flush=True)
    lane.release()
    os._exit(0)
os.wait()
print(lane.wanted(), claim('parent').number)""").end()
    assert said.split() == ["True", "False", "1", "True", "1"]


def test_a_note_says_why_there_is_no_picture(reader: Reader, write: Callable[..., Writer]) -> None:
    writer = write("lane.say('cannot render: ' + 'ä' * 500); print(flush=True); sys.stdin.read()")
    writer.says()
    assert reader.status(0).note.startswith("cannot render: ä")


def test_the_seeds_variables_set_pace_and_size(make: Callable[..., Segment]) -> None:
    program = "print(attach().interval, attach().max_dim)"
    assert Writer(make(), program).end() == "0.02 64"
    given = {"CLEANRL_FASTLANE_INTERVAL_MS": "500", "CLEANRL_FASTLANE_MAX_DIM": "32"}
    assert Writer(make(), program, **given).end() == "0.5 32"
    larger = {"CLEANRL_FASTLANE_INTERVAL_MS": "often", "CLEANRL_FASTLANE_MAX_DIM": "4000"}
    assert Writer(make(), program, **larger).end() == "0.02 64"


def test_single_shows_the_one_at_its_slot(make: Callable[..., Segment]) -> None:
    segment = make(FastlaneSpec(mode="single", slot=2, max_dim=64))
    reader = Reader(segment.path)
    assert list(reader.lanes) == [2]
    reader.close()


def test_the_layout_is_the_documented_one(segment: Segment, write: Callable[..., Writer]) -> None:
    write("lane.write(b'RGBrgb', 1, 2, 3, 1.0, 2.0); lane.say('note')").end()
    data = segment.path.read_bytes()
    assert data[:8] == b"MOSAICFL"
    capacity = 64 * 64 * 3
    assert struct.unpack_from("<QQQqQQQ", data, 8) == (1, 3, 3, -1, 20_000_000, 64, capacity)
    assert struct.unpack_from("<QQ", data, 64)[0] == os.getpid()
    assert struct.unpack_from("<Q", data, 4096 + 64) == (1,)  # lane 0, newest frame
    assert data[4096 + 160 :].startswith(b"env 0\0")
    assert data[4096 + 256 :].startswith(b"note\0")
    slot = 4096 + 4096 + 1 * 16384  # 1024 + 12288 bytes, in whole pages
    sequence, number, _, generation, height, width, channels = struct.unpack_from("<7Q", data, slot)
    assert (sequence % 2, number, generation, height, width, channels) == (0, 1, 1, 1, 2, 3)
    assert struct.unpack_from("<2d", data, slot + 56) == (1.0, 2.0)
    assert math.isnan(struct.unpack_from("<d", data, slot + 72)[0])
    assert data[slot + 1024 :].startswith(b"RGBrgb\0")
    assert len(data) == 4096 + 3 * (4096 + 3 * 16384)


def test_it_is_the_users_alone_and_takes_only_the_memory_that_it_needs(make: Callable[..., Segment]) -> None:
    segment = make(FastlaneSpec(max_dim=4096, grid_limit=64))
    status = segment.path.stat()
    assert status.st_mode & 0o777 == 0o600
    assert status.st_blocks * 512 == 65 * 4096


def test_what_nobody_holds_is_removed_when_the_next_one_is_made(make: Callable[..., Segment]) -> None:
    held = make()
    left = segment_path(str(ULID()), 1)
    left.write_bytes(held.path.read_bytes())
    make()
    assert not left.exists()
    assert held.path.exists()


def test_a_reader_says_what_it_cannot_read(tmp_path: Path, segment: Segment) -> None:
    with pytest.raises(FileNotFoundError):
        Reader(tmp_path / "none")
    for content in (b"", bytes(10_000), segment.path.read_bytes()[:8] + bytes(10_000)):
        (tmp_path / "other").write_bytes(content)
        with pytest.raises(OSError, match="is no segment"):
            Reader(tmp_path / "other")


def test_a_reader_that_ends_takes_nothing_with_it(segment: Segment, write: Callable[..., Writer]) -> None:
    program = "import sys, pathlib, mosaic_pipe.fastlane.reader as r; r.Reader(pathlib.Path(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", program, segment.path], capture_output=True, text=True, check=True)
    assert done.stderr == ""  # no tracker complains
    assert segment.path.exists()


def test_full_shared_memory_is_an_error_and_no_signal() -> None:
    """In a mount of its own, with room for some of the frames only."""
    program = """
import errno, os
from mosaic_pipe.fastlane.segment import Segment
from mosaic_pipe.spec.schema import FastlaneSpec
from mosaic_worker.fastlane.segment import claim
segment = Segment("FULL", 1, FastlaneSpec())
os.environ["MOSAIC_FASTLANE"] = str(segment.path)
lane = claim("env 0")
lane.write(bytes(300_000), 100, 1000, 3)
try: lane.write(bytes(900_000), 300, 1000, 3)
except OSError as error: print(errno.errorcode[error.errno])
lane.write(bytes(30_000), 10, 1000, 3)
print("goes on")
try: Segment("MORE", 1, FastlaneSpec(grid_limit=64)); print("made")
except OSError as error: print(errno.errorcode[error.errno])
print(os.listdir("/dev/shm"))
"""
    mounted = 'mount -t tmpfs -o size=800k none /dev/shm && exec "$0" -c "$1"'
    command = ["unshare", "--mount", "--user", "--map-root-user", "sh", "-c", mounted, sys.executable, program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:4] == ["ENOSPC", "goes on", "made", "['mosaic_fl_MORE_1', 'mosaic_fl_FULL_1']"]


def soon(look: Callable[[], Frame | None]) -> Frame:
    deadline = time.monotonic() + 60
    while not (found := look()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return found
