"""Runs inside the worker's virtualenv: each spec trained in one go, and the same stopped half way and resumed."""

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
    folder.mkdir(parents=True)
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


def three_times(spec: Any, place: Path) -> dict[str, str]:
    """The last checkpoints of a whole run, of a stopped one, and of that resumed."""
    whole = train(deepcopy(spec), place / "whole")
    stopped = train(deepcopy(spec), place / "stopped", spec.total_timesteps // 2)
    spec.mode, spec.resume.checkpoint = "resume_training", str(stopped)
    resumed = train(spec, place / "resumed")
    return {"whole": str(whole), "stopped": str(stopped), "resumed": str(resumed)}


def main(*files: str) -> None:
    paths = [Path(file) for file in files]
    print(json.dumps({path.stem: three_times(load_spec(path), path.with_suffix("")) for path in paths}))


if __name__ == "__main__":
    main(*sys.argv[1:])
