"""Runs inside the worker's virtualenv: a spec trained in one go, and the same spec stopped half way and resumed."""

from __future__ import annotations

import json
import os
import signal
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

from mosaic_worker.emitter import Emitter
from mosaic_worker.errors import Stopped
from mosaic_worker.session import Session
from mosaic_worker.spec import load_spec
from xuance_worker.cli import XuanCeWorker


class StoppedHalfWay(Session):
    """A session that is asked to stop, as the supervisor does it, when ``stop_at`` steps were taken."""

    stop_at = 0

    def tick(self, steps: int = 1) -> None:
        super().tick(steps)
        if self.env_steps == self.stop_at:
            os.kill(os.getpid(), signal.SIGTERM)


def train(spec: Any, folder: Path, stop_at: int = 0) -> Path:
    """Train as the kit's command line does; returns the last checkpoint. Events go to ``folder/events.jsonl``."""
    folder.mkdir()
    events = os.open(folder / "events.jsonl", os.O_WRONLY | os.O_CREAT)
    session = StoppedHalfWay(Emitter(events, spec.run_id, 1), folder)
    session.stop_at = stop_at
    session.listen()
    worker = XuanCeWorker()
    runtime = worker.runtime(worker.config(spec), session)
    try:
        runtime.run()
    except Stopped:
        assert stop_at
    session.checkpoints.save(runtime.save_checkpoint)
    runtime.close()
    (checkpoint,) = (folder / "checkpoints").iterdir()
    return checkpoint


def main(spec_file: str, folder: str) -> None:
    spec, place = load_spec(Path(spec_file)), Path(folder)
    whole = train(deepcopy(spec), place / "whole")
    stopped = train(deepcopy(spec), place / "stopped", spec.total_timesteps // 2)
    spec.mode, spec.resume.checkpoint = "resume_training", str(stopped)
    resumed = train(spec, place / "resumed")
    print(json.dumps({"whole": str(whole), "stopped": str(stopped), "resumed": str(resumed)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
