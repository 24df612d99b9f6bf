"""Where the time goes from the command to the worker's first event, before its library is imported.

The goal is at most 1 s. What follows is the library's own import.

    .venv/bin/python scripts/bench/startup.py [REPEATS]
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMAND = str(Path(sys.executable).with_name("mosaic-pipe"))
RUN = ["worker=cleanrl", "algo=ppo", "env=cartpole", "total_timesteps=512"]


def one_run(folder: str) -> dict[str, float]:
    """Seconds of each phase of one run."""
    begun = time.time()
    subprocess.run([COMMAND, *RUN, f"output_dir={folder}"], check=True, capture_output=True)
    ended = time.time()
    run = max(Path(folder, "runs").iterdir())
    manifest = json.loads((run / "manifest.json").read_text())
    events = [json.loads(line) for line in (run / "attempts" / "1" / "events.jsonl").read_text().splitlines()]
    checked, worker_up = manifest["attempts"][0]["started"], events[0]["time"]
    first_of_library = next(event["time"] for event in events if event["event"] not in ("run_started", "heartbeat"))
    return {
        "Python, Hydra, compose, check": checked - begun,
        "run directory, provenance, worker's Python": worker_up - checked,
        "COMMAND TO FIRST EVENT": worker_up - begun,
        "the library's own import": first_of_library - worker_up,
        "whole command": ended - begun,
    }


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    with tempfile.TemporaryDirectory() as folder:
        one_run(folder)  # installs, warms the page cache
        runs = [one_run(folder) for _ in range(repeats)]
    for phase in runs[0]:
        seconds = [run[phase] for run in runs]
        print(f"{phase:<45} median {statistics.median(seconds):.3f} s, {min(seconds):.3f} to {max(seconds):.3f}")


if __name__ == "__main__":
    main()
