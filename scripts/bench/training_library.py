"""Steps a second of a library through mosaic-pipe, against the same run by hand in the same virtualenv.

The canonical defaults, the hand's program in ``by_hand_WORKER.py``; pairs alternate, both with one thread and on the
same core. The clock runs from the first step to the end of training; CPU time is of the whole process, its imports and
compilation included. The goal is a ratio of at least 0.98. Differences under a few percent need many pairs: machines
drift.

    .venv/bin/python scripts/bench/training_library.py WORKER [PAIRS [STEPS [ALGO]]]
    .venv/bin/python scripts/bench/training_library.py tianshou 5 20000 dqn
    .venv/bin/python scripts/bench/training_library.py xuance 5 12800 qmix
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

COMMAND = str(Path(sys.executable).with_name("mosaic-pipe"))
DQN = ["algo.learning_starts=1000"]
OVERRIDES = {
    "rllib": {"ppo": [], "dqn": DQN},
    "tianshou": {"ppo": [], "dqn": DQN},
    "xuance": {
        "ppo": [],
        "dqn": DQN,
        "mappo": ["env=mpe_simple_spread"],
        "qmix": ["env=mpe_simple_spread"],
        "maddpg": ["env=mpe_simple_spread_continuous"],
    },
}


def through_mosaic_pipe(overrides: list[str], steps: int, folder: str) -> tuple[float, float]:
    """Steps a second, and seconds of CPU."""
    subprocess.run([COMMAND, *overrides, f"output_dir={folder}"], check=True, capture_output=True)
    manifest = json.loads((max(Path(folder, "runs").iterdir()) / "manifest.json").read_text())
    took = manifest["summary"]["env_steps"]
    assert 0.9 * steps < took <= steps, f"a budget that is no whole number of collections: {steps}"
    return manifest["summary"]["sps"], manifest["resources"]["cpu_seconds"]


def by_hand(command: list[str], answer: str, folder: str) -> tuple[float, float]:
    """The same numbers of the hand's program; CPU until the process is gone, as there."""
    before = _cpu_of_children()
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, input=answer, check=True, capture_output=True, text=True, cwd=folder, env=variables)
    return float(done.stdout.split()[-1]), _cpu_of_children() - before


def _cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    given = dict(enumerate(sys.argv))
    worker, pairs, steps, algo = given[1], int(given.get(2, 5)), int(given.get(3, 51_200)), given.get(4, "ppo")
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    installed = subprocess.run([COMMAND, "workers", "install", worker, "--json"], check=True, capture_output=True)
    python = json.loads(installed.stdout)["python"]
    program = str(Path(__file__).resolve().with_name(f"by_hand_{worker}.py"))
    overrides = [f"worker={worker}", f"algo={algo}", *OVERRIDES[worker][algo]]
    overrides += [f"total_timesteps={steps}", "tracking=none"]
    asked = subprocess.run([COMMAND, *overrides, "--dry-run"], check=True, capture_output=True, text=True)
    command = [python, program, algo, str(steps)]
    ratios: list[tuple[float, float]] = []
    print(f"{worker} {algo}, {steps} steps; load before: {os.getloadavg()[0]:.2f}")
    with tempfile.TemporaryDirectory() as folder:
        for pair in range(pairs):
            if pair % 2:
                hand, ours = by_hand(command, asked.stdout, folder), through_mosaic_pipe(overrides, steps, folder)
            else:
                ours, hand = through_mosaic_pipe(overrides, steps, folder), by_hand(command, asked.stdout, folder)
            ratios.append((ours[0] / hand[0], hand[1] / ours[1]))
            print(
                f"mosaic-pipe {ours[0]:.0f} steps/s, {ours[1]:.1f} s of CPU; by hand {hand[0]:.0f} steps/s, "
                f"{hand[1]:.1f} s; ratios {ratios[-1][0]:.3f}, {ratios[-1][1]:.3f}",
                flush=True,
            )
    for what, values in zip(("steps a second", "CPU"), zip(*ratios, strict=True), strict=True):
        print(f"{what}: median {statistics.median(values):.3f}, from {min(values):.3f} to {max(values):.3f}")
    print(f"load after: {os.getloadavg()[0]:.2f}")


if __name__ == "__main__":
    main()
