"""Steps a second of a CleanRL script through mosaic-pipe, against the same script run by hand in the same virtualenv.

Pairs alternate, both with one thread and on the same core; both numbers are the script's own last ``SPS``. The goal
is a ratio of at least 0.98. Differences under a few percent need many pairs: machines drift.

    .venv/bin/python scripts/bench/training.py [PAIRS [STEPS [ALGO]]]
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

COMMAND = str(Path(sys.executable).with_name("mosaic-pipe"))


def last_sps(text: str) -> int:
    return int(re.findall(r"^SPS: (\d+)$", text, re.MULTILINE)[-1])


def through_mosaic_pipe(algo: str, steps: int, folder: str) -> int:
    overrides = ["worker=cleanrl", f"algo={algo}", "env=cartpole", "seed=1", f"total_timesteps={steps}"]
    subprocess.run([COMMAND, *overrides, f"output_dir={folder}/ours"], check=True, capture_output=True)
    newest = max(Path(folder, "ours", "runs").iterdir())
    return last_sps((newest / "attempts" / "1" / "worker.log").read_text())


def by_hand(algo: str, steps: int, folder: str, python: str) -> int:
    command = [python, "-m", f"cleanrl.{algo}", "--seed", "1", "--total-timesteps", str(steps), "--cuda", "False"]
    variables = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder, env=variables)
    return last_sps(done.stdout)


def main() -> None:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 50_000
    algo = sys.argv[3] if len(sys.argv) > 3 else "ppo"
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    installed = subprocess.run([COMMAND, "workers", "install", "cleanrl", "--json"], check=True, capture_output=True)
    python = json.loads(installed.stdout)["python"]
    ratios = []
    print(f"load before: {os.getloadavg()[0]:.2f}")
    with tempfile.TemporaryDirectory() as folder:
        for pair in range(pairs):
            turns = [lambda: through_mosaic_pipe(algo, steps, folder), lambda: by_hand(algo, steps, folder, python)]
            if pair % 2:
                hand, ours = turns[1](), turns[0]()
            else:
                ours, hand = turns[0](), turns[1]()
            ratios.append(ours / hand)
            print(f"mosaic-pipe {ours} steps/s, by hand {hand} steps/s, ratio {ours / hand:.3f}", flush=True)
    print(f"ratio: median {statistics.median(ratios):.3f}, from {min(ratios):.3f} to {max(ratios):.3f}, {pairs} pairs")
    print(f"load after: {os.getloadavg()[0]:.2f}")


if __name__ == "__main__":
    main()
