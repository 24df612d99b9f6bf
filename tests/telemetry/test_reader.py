from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mosaic_pipe.telemetry.fold import Fold
from mosaic_pipe.telemetry.reader import MAX_READ_LINE, EventReader


def line(seq: int, event: str = "episode", **payload: Any) -> bytes:
    payload = payload or {"env_steps": seq, "episode_return": 1.5, "episode_length": 2, "wall_time": 0.5}
    envelope = {"event": event, "run_id": "R", "attempt": 1, "seq": seq, "time": 1.0, "payload": payload}
    return msgspec.json.encode(envelope) + b"\n"


WHOLE = b"".join(line(seq) for seq in range(1, 6))


def read(file: Path, *, final: bool = True) -> tuple[list[int], EventReader]:
    reader = EventReader(file)
    return [event.seq for event in reader.read(final=final)], reader


def test_a_file_cut_at_any_byte_gives_every_whole_line(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    for cut in range(len(WHOLE) + 1):
        file.write_bytes(WHOLE[:cut])
        seqs, reader = read(file)
        whole = WHOLE[:cut].count(b"\n")
        assert seqs == list(range(1, whole + 1))
        assert reader.skipped.torn == (0 if cut == 0 or WHOLE[cut - 1 : cut] == b"\n" else 1)
        assert reader.skipped.bad == 0


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(min_value=1, max_value=len(WHOLE)), max_size=8))
def test_reading_while_it_grows_gives_the_same(tmp_path_factory: pytest.TempPathFactory, cuts: list[int]) -> None:
    file = tmp_path_factory.mktemp("grow") / "events.jsonl"
    reader, seqs = EventReader(file), []
    for cut in sorted({*cuts, len(WHOLE)}):
        file.write_bytes(WHOLE[:cut])
        seqs += [event.seq for event in reader.read()]
    assert seqs == [1, 2, 3, 4, 5]
    assert list(reader.read(final=True)) == []
    assert reader.skipped.torn == 0


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200).filter(lambda junk: b"\n" not in junk), st.integers(min_value=0, max_value=5))
def test_a_spoiled_line_costs_only_itself(tmp_path_factory: pytest.TempPathFactory, junk: bytes, position: int) -> None:
    lines = WHOLE.splitlines(keepends=True)
    lines.insert(position, junk + b"\n")
    file = tmp_path_factory.mktemp("junk") / "events.jsonl"
    file.write_bytes(b"".join(lines))
    seqs, reader = read(file)
    assert seqs == [1, 2, 3, 4, 5]
    skipped = reader.skipped
    assert skipped.bad + skipped.unknown == (1 if junk.strip() else 0)


@pytest.mark.parametrize(
    ("spoiled", "reason"),
    [
        (line(9, "from_the_future", x=1), "unknown"),
        (line(9, "episode", env_steps=1), "bad"),
        (line(9, "heartbeat", env_steps="many", idle=0.0), "bad"),
        (b'{"event": 3}\n', "bad"),
        (b"null\n", "bad"),
        (b"\x00" * 4096 + b"\n", "bad"),
        (b"\xff\xfe\n", "bad"),
    ],
)
def test_lines_without_an_event_are_counted_by_reason(tmp_path: Path, spoiled: bytes, reason: str) -> None:
    file = tmp_path / "events.jsonl"
    file.write_bytes(line(1) + spoiled + line(2))
    seqs, reader = read(file)
    assert seqs == [1, 2]
    counts = {name: getattr(reader.skipped, name) for name in reader.skipped.__struct_fields__}
    assert counts == {"bad": 0, "unknown": 0, "oversize": 0, "torn": 0, reason: 1}


@pytest.mark.parametrize("size", [MAX_READ_LINE, MAX_READ_LINE + 1, 3 * MAX_READ_LINE, 10_000_000])
def test_a_line_that_is_too_long_is_passed_over(tmp_path: Path, size: int) -> None:
    long = line(2, "warning", message="x" * size)
    file = tmp_path / "events.jsonl"
    file.write_bytes(line(1) + long + line(3))
    assert read(file)[0] == [1, 3]
    assert read(file)[1].skipped.oversize == 1
    growing, reader = tmp_path / "growing.jsonl", EventReader(tmp_path / "growing.jsonl")
    seqs = []
    for cut in (len(line(1)) + size // 2, len(line(1)) + size, None):
        growing.write_bytes((line(1) + long + line(3))[:cut])
        seqs += [event.seq for event in reader.read()]
    assert seqs == [1, 3]
    assert reader.skipped.oversize == 1


def test_a_line_just_short_enough_is_read(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    room = MAX_READ_LINE - len(line(1, "warning", message=""))
    file.write_bytes(line(1, "warning", message="x" * room) + line(2))
    assert read(file)[0] == [1, 2]


def test_no_file_is_no_events(tmp_path: Path) -> None:
    assert read(tmp_path / "events.jsonl")[0] == []


def test_unknown_fields_of_a_newer_kit_are_ignored(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_bytes(line(1, env_steps=1, episode_return=1.0, episode_length=1, wall_time=0.1, new_field=[1]))
    assert read(file)[0] == [1]


def test_not_a_number_reaches_the_summary(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_bytes(line(1, env_steps=3, episode_return="NaN", episode_length=3, wall_time=0.1))
    fold = Fold()
    fold.feed(EventReader(file).read())
    mean = fold.summary().episode_return_mean
    assert mean is not None
    assert mean != mean
    assert b'"episode_return_mean":null' in msgspec.json.encode(fold.summary())
