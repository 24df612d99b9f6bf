"""When a checkpoint is due, and which are kept."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from mosaic_worker.emitter import Emitter
from mosaic_worker.errors import Stopped
from mosaic_worker.session import Session


class Run:
    """A session whose events can be read back."""

    def __init__(self, folder: Path, **settings: int) -> None:
        self._file = folder / "events.jsonl"
        self._fd = os.open(self._file, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        self.session = Session(Emitter(self._fd, "01ARZ3NDEKTSV4RRFFQ69G5FAV", 1), folder, **settings)

    def saved(self) -> list[dict[str, Any]]:
        events = [json.loads(line) for line in self._file.read_text().splitlines()]
        return [event["payload"] for event in events if event["event"] == "checkpoint_saved"]

    def write(self, directory: Path) -> Path:
        path = directory / f"step-{self.session.env_steps}.bin"
        path.write_bytes(b"state")
        return path

    def train(self, steps: int) -> None:
        for _ in range(steps):
            if self.session.wants_safe_point:
                self.session.safe_point(self.write)
            self.session.tick()
        self.session.safe_point(self.write)


def test_every_interval_and_the_newest_kept(tmp_path: Path) -> None:
    run = Run(tmp_path, checkpoint_interval=10, keep_checkpoints=2)
    run.train(35)
    run.session.checkpoints.save(run.write)  # at the end
    run.session.checkpoints.save(run.write)  # there is one of this step
    assert [saved["env_steps"] for saved in run.saved()] == [10, 20, 30, 35]
    assert [saved.get("replaced") for saved in run.saved()] == [
        None,
        None,
        ["checkpoints/step-10.bin"],
        ["checkpoints/step-20.bin"],
    ]
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == ["step-30.bin", "step-35.bin"]


def test_the_interval_counts_from_where_a_run_was_resumed(tmp_path: Path) -> None:
    run = Run(tmp_path, checkpoint_interval=10, keep_checkpoints=1)
    run.session.continue_from(1007)
    run.train(12)
    assert [saved["env_steps"] for saved in run.saved()] == [1017]
    assert run.session.summary()["env_steps"] == 1019


def test_updates_are_the_progress_of_a_run_that_takes_no_steps(tmp_path: Path) -> None:
    run = Run(tmp_path, checkpoint_interval=10, keep_checkpoints=1)
    run.session.continue_from(0, updates=5)
    for _ in range(22):
        run.session.tick(0)  # an evaluation
        run.session.update()
        if run.session.wants_safe_point:
            run.session.safe_point(run.write)
    assert [(saved["env_steps"], saved["updates"]) for saved in run.saved()] == [(0, 15), (0, 25)]
    assert run.session.summary()["updates"] == 27


def test_nothing_to_save_is_no_checkpoint(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.session.checkpoints.save(lambda directory: None)
    assert not run.saved()


def test_a_stop_waits_for_a_safe_point(tmp_path: Path) -> None:
    run = Run(tmp_path)
    before = signal.getsignal(signal.SIGTERM)
    try:
        run.session.listen()
        run.session.tick()
        run.session.safe_point(run.write)
        assert not run.session.wants_safe_point
        os.kill(os.getpid(), signal.SIGTERM)
        run.session.tick()  # which would have raised before the first safe point
        assert run.session.wants_safe_point
        with pytest.raises(Stopped):
            run.session.safe_point(run.write)
    finally:
        signal.signal(signal.SIGTERM, before)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGUSR2, signal.SIG_DFL)


def test_checkpoints_of_an_earlier_attempt_are_replaced_too(tmp_path: Path) -> None:
    first = Run(tmp_path, checkpoint_interval=10, keep_checkpoints=2)
    first.train(25)
    half_written = tmp_path / "checkpoints" / ".step-30.bin.123.tmp"
    half_written.write_bytes(b"st")
    again = Run(tmp_path, checkpoint_interval=10, keep_checkpoints=2)
    again.session.continue_from(20)
    again.train(15)
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == ["step-20.bin", "step-30.bin"]
    assert again.saved()[-1]["replaced"] == ["checkpoints/step-10.bin"]


def test_a_checkpoint_that_is_on_record_exists_at_any_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(tmp_path, checkpoint_interval=10, keep_checkpoints=1)
    run.train(15)

    def killed(path: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mosaic_worker.session.fingerprint", killed)
    with pytest.raises(KeyboardInterrupt):
        run.session.checkpoints.save(run.write)
    assert [saved["path"] for saved in run.saved()] == ["checkpoints/step-10.bin"]
    assert (tmp_path / "checkpoints" / "step-10.bin").exists()
