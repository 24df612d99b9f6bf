from __future__ import annotations

import errno
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mosaic_worker.emitter import Emitter, encode, truncated
from mosaic_worker.errors import EventsLost
from mosaic_worker.protocol import MAX_LINE

from mosaic_pipe.telemetry.reader import EventReader


@pytest.fixture
def events(tmp_path: Path) -> Iterator[tuple[int, Path]]:
    file = tmp_path / "events.jsonl"
    fd = os.open(file, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    yield fd, file
    os.close(fd)


def test_one_write_a_line(events: tuple[int, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    writes = []
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: writes.append(data) or real(fd, data))  # type: ignore[func-returns-value]
    emitter = Emitter(events[0], "R", 1)
    for _ in range(3):
        emitter.emit("warning", {"message": "a\nb"})
    assert len(writes) == 3
    assert all(data.endswith(b"\n") and data.count(b"\n") == 1 for data in writes)


def test_what_the_kit_writes_the_core_reads(events: tuple[int, Path]) -> None:
    emitter = Emitter(events[0], "R", 3)
    emitter.emit("episode", {"env_steps": 1, "episode_return": float("-inf"), "episode_length": 1, "wall_time": 0.1})
    (event,) = EventReader(events[1]).read(final=True)
    assert (event.run_id, event.attempt, event.seq) == ("R", 3, 1)
    assert abs(event.time - events[1].stat().st_mtime) < 60


def test_threads_do_not_mix_lines(events: tuple[int, Path]) -> None:
    emitter = Emitter(events[0], "R", 1)

    def emit_many() -> None:
        for _ in range(500):
            emitter.emit("warning", {"message": "x" * 500})

    threads = [threading.Thread(target=emit_many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [json.loads(text)["seq"] for text in events[1].read_text().splitlines()] == list(range(1, 2001))


@pytest.mark.parametrize(
    "payload",
    [
        {"message": "x" * 1_000_000},
        {"message": "\u0000" * 100_000, "short": 1},
        {f"key{number}": number for number in range(20_000)},
        {"list": list(range(50_000)), "text": "ok"},
        {"x" * 100_000: 1},
    ],
)
def test_a_long_payload_is_cut_and_marked(events: tuple[int, Path], payload: dict[str, Any]) -> None:
    Emitter(events[0], "R", 1).emit("warning", payload)
    (text,) = events[1].read_bytes().splitlines(keepends=True)
    assert len(text) <= MAX_LINE
    assert json.loads(text)["payload"]["truncated"]


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.floats() | st.lists(st.text()), max_size=8))
def test_cutting_keeps_to_its_budget(payload: dict[str, Any]) -> None:
    assert len(encode(truncated(payload, 400))) <= 400
    json.loads(encode(payload), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


class _Scalar:
    def item(self) -> float:
        return 1.5


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (float("nan"), '"NaN"'),
        (float("inf"), '"Infinity"'),
        ([1, float("-inf")], '[1,"-Infinity"]'),
        (_Scalar(), "1.5"),
        ({1: _Scalar()}, '{"1":1.5}'),
        (Path("a"), '"a"'),
        (True, "true"),
    ],
)
def test_values_that_json_does_not_know(value: Any, text: str) -> None:
    assert encode({"v": value}) == f'{{"v":{text}}}'


@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "No space left on device"), 10])
def test_an_event_that_cannot_be_written_is_no_secret(
    events: tuple[int, Path], monkeypatch: pytest.MonkeyPatch, failure: object
) -> None:
    def write(fd: int, data: bytes) -> int:
        if isinstance(failure, OSError):
            raise failure
        return len(data[:10])

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(EventsLost, match=r"(?i)no space left on device"):
        Emitter(events[0], "R", 1).emit("warning", {"message": "m"})
