"""Trains twice, once with a stop in between, all in one Ray; run by the worker's Python.

``python resuming.py STOP SPEC…`` prints JSON, for each spec: the episodes of the run that was not stopped, those before
and after the stop, and the names of the checkpoints that both wrote at the end.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from mosaic_worker.emitter import Emitter
from mosaic_worker.errors import Stopped
from mosaic_worker.session import Session
from mosaic_worker.spec import load_spec
from mosaic_worker.stdio import take_over_stdout
from rllib_worker.cluster import Cluster
from rllib_worker.config import RllibConfig


class Stopping(Session):
    """Keeps the episodes, and stops at the first safe point at which ``stop`` steps were taken."""

    def __init__(self, folder: Path, stop: float = float("inf")) -> None:
        super().__init__(Emitter(os.open(os.devnull, os.O_WRONLY), "0" * 26, 1), folder)
        self.episodes: list[Any] = []
        self.warnings: list[str] = []
        self._stop = stop

    def safe_point(self, write: Any) -> None:
        if self.env_steps >= self._stop:
            raise Stopped
        super().safe_point(write)

    def episode(self, episode_return: float, episode_length: int, **_: Any) -> None:
        self.episodes.append((self.env_steps, episode_return, episode_length))

    def warning(self, message: str) -> None:
        self.warnings.append(message)


def train(spec: Any, session: Stopping, cluster: Any, loaded: Any) -> Path | None:
    """Train until the end or the stop, and save."""
    from rllib_worker.reports import TALLY
    from rllib_worker.training import Training

    TALLY.environments = 0  # as in a process of its own
    training = Training(RllibConfig.from_spec(spec), session, loaded, cluster)
    with suppress(Stopped):
        training.run()
    saved = training.save_checkpoint(session.run_dir)
    training._algorithm.stop()
    return saved


def compare(file: Path, stop: int, cluster: Any) -> dict[str, Any]:
    from rllib_worker.checkpoints import CHECKPOINTS

    spec, folders = load_spec(file), [file.with_suffix(f".{name}") for name in ("whole", "first", "second")]
    for folder in folders:
        folder.mkdir()
    whole, first, second = Stopping(folders[0]), Stopping(folders[1], stop), Stopping(folders[2])
    uninterrupted = train(spec, whole, cluster, None)
    spec.resume.checkpoint = str(train(spec, first, cluster, None))
    resumed = train(spec, second, cluster, CHECKPOINTS.load_for(spec))
    return {
        "whole": whole.episodes,
        "parts": [first.episodes, second.episodes],
        "warnings": second.warnings,
        "checkpoints": [str(uninterrupted), str(resumed)],
    }


def main() -> None:
    stop, *files = sys.argv[1:]
    stdout = take_over_stdout()
    cluster = Cluster(RllibConfig.from_spec(load_spec(Path(files[0]))))
    try:
        found = {Path(file).stem: compare(Path(file), int(stop), cluster) for file in files}
        os.write(stdout, json.dumps(found).encode())
    finally:
        cluster.close()


if __name__ == "__main__":
    main()
