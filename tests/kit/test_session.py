from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mosaic_worker.emitter import Emitter
from mosaic_worker.errors import EventsLost, Stopped
from mosaic_worker.heartbeat import Heartbeat
from mosaic_worker.session import Session


class Run:
    """A session over a file, and the events in it."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "events.jsonl"
        self.fd = os.open(self.file, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        self.session = Session(Emitter(self.fd, "R", 1), folder)

    def events(self, kind: str) -> list[dict[str, Any]]:
        events = map(json.loads, self.file.read_text().splitlines())
        return [event["payload"] for event in events if event["event"] == kind]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR2)}
    made = Run(tmp_path)
    yield made
    os.close(made.fd)
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_request_is_raised_at_the_next_step(run: Run, number: signal.Signals) -> None:
    run.session.listen()
    run.session.tick()
    os.kill(os.getpid(), number)
    with pytest.raises(Stopped):
        run.session.tick()
    assert run.session.env_steps == 2
    with pytest.raises(Stopped):  # a library that catches it is asked again
        run.session.tick()


def test_slurms_warning_signal_does_not_kill(run: Run) -> None:
    run.session.listen()
    os.kill(os.getpid(), signal.SIGUSR2)
    run.session.tick()  # raises nothing
    assert run.session.env_steps == 1


def test_metrics_of_one_step_are_one_event(run: Run) -> None:
    run.session.tick(8)
    run.session.metric("losses/a", 1.0, 8)
    run.session.metric("losses/b", 2.0, 8)
    run.session.metric("losses/a", 3.0, 16)
    run.session.tick()
    first, second = run.events("metrics")
    assert (first["losses/a"], first["losses/b"], first["env_steps"]) == (1.0, 2.0, 8)
    assert second["losses/a"] == 3.0
    assert "losses/b" not in second


def test_steps_a_second_count_from_the_first_step(run: Run) -> None:
    time.sleep(0.3)
    run.session.tick()
    time.sleep(0.1)
    run.session.tick(9)
    summary = run.session.summary()
    assert 10 / summary["sps"] < 0.3
    assert summary["wall_time"] >= 0.4


def test_what_comes_after_training_does_not_make_it_slower(run: Run) -> None:
    run.session.tick()
    time.sleep(0.1)
    run.session.tick(9)
    run.session.training_ended()
    at_the_end = run.session.summary()
    time.sleep(0.1)  # a checkpoint is saved
    run.session.training_ended()
    assert run.session.summary()["sps"] == at_the_end["sps"]
    assert run.session.summary()["wall_time"] >= at_the_end["wall_time"] + 0.1


def test_steps_of_an_earlier_run_do_not_make_this_one_faster(run: Run) -> None:
    run.session.continue_from(1_000_000)
    run.session.tick()
    time.sleep(0.1)
    run.session.tick(9)
    assert run.session.summary()["env_steps"] == 1_000_010
    assert run.session.summary()["sps"] <= 10 / 0.1


def test_heartbeats_tell_how_long_the_loop_is_silent(run: Run) -> None:
    heartbeat = Heartbeat(run.session, 0.05)
    heartbeat.start()
    for _ in range(10):
        run.session.tick()
        time.sleep(0.02)
    busy = len(run.events("heartbeat"))
    time.sleep(0.4)
    heartbeat.stop()
    beats = run.events("heartbeat")
    assert all(beat["idle"] < 0.2 for beat in beats[:busy])
    assert beats[-1]["idle"] > 0.2
    assert beats[-1]["env_steps"] == 10
    count = len(beats)
    time.sleep(0.15)
    assert len(run.events("heartbeat")) == count


def test_a_loop_that_lives_without_steps_is_not_idle(run: Run) -> None:
    heartbeat = Heartbeat(run.session, 0.05)
    heartbeat.start()
    for _ in range(20):
        run.session.alive()
        time.sleep(0.02)
    heartbeat.stop()
    assert all(beat["idle"] < 0.2 for beat in run.events("heartbeat"))


def test_a_heartbeat_that_cannot_be_written_ends_training(run: Run) -> None:
    run.session.tick()
    run.session.give_up(EventsLost("no space left on device"))
    with pytest.raises(EventsLost):
        run.session.tick()
