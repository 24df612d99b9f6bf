"""The end of a run on the kit's command line, by the smallest worker there can be."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from machine import REPOSITORY

WORKER = """
import sys, time
from mosaic_worker.cli import main

class Runtime:
    def __init__(self, session):
        self.session = session

    def run(self):
        for _ in range(10):
            self.session.tick()
            time.sleep(0.02)

    def save_checkpoint(self, directory):
        time.sleep(1.0)
        path = directory / "step-10.bin"
        path.write_bytes(b"a large replay buffer")
        return path

    def close(self):
        pass

class Worker:
    package = "tiny"
    config = staticmethod(lambda spec: spec)
    runtime = staticmethod(lambda config, session: Runtime(session))

sys.exit(main(Worker()))
"""
SPEC = {
    "schema_version": 1,
    "run_id": "R",
    "checkpoint": {"interval": None, "keep": 1},
    "resources": {"heartbeat_interval": 10},
}


def test_saving_the_last_checkpoint_does_not_make_training_slower(tmp_path: Path) -> None:
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps(SPEC))
    command = [sys.executable, "-c", WORKER, "--config", str(spec)]
    said = subprocess.run(command, cwd=REPOSITORY / "workers" / "mosaic_worker", capture_output=True, check=True).stdout
    started, saved, completed = map(json.loads, said.splitlines())
    assert [one["event"] for one in (started, saved, completed)] == ["run_started", "checkpoint_saved", "run_completed"]
    summary = completed["payload"]
    assert summary["wall_time"] >= 1.2
    trained = saved["time"] - started["time"] - 1.0  # the pauses, and what a loaded machine adds to them
    assert summary["sps"] == pytest.approx(10 / trained, rel=0.2)
