"""Training speed with live frames: off, on and unwatched, watched at 30 frames a second in every environment.

CleanRL's PPO on CartPole (4 environments) or any other algorithm and environment, one thread, on one core; who watches
is on another core. Rounds of the three alternate, and each round's ratios are to its own run without. Steps a second
are from the first step to the end of training; CPU per step is of the whole worker, its imports included. Goals:
unwatched at least 0.99 of off, watched at least 0.90. Differences under a few percent need many rounds: machines drift.

    .venv/bin/python scripts/bench/fastlane_training.py [ROUNDS [STEPS [ALGO [ENV]]]]
    .venv/bin/python scripts/bench/fastlane_training.py 5 8192 ppo_atari atari_breakout
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from mosaic_worker.fastlane import layout

from mosaic_pipe.fastlane.reader import Reader

COMMAND = str(Path(sys.executable).with_name("mosaic-pipe"))
KINDS = ("off", "unwatched", "watched")
GOALS = {"unwatched": 0.99, "watched": 0.90}


@dataclass(frozen=True)
class Result:
    """One run."""

    steps_a_second: float
    cpu_microseconds: float
    """Per step."""
    frames: int
    """Seen, of all environments."""


def run(kind: str, overrides: list[str], core: int, folder: str) -> Result:
    """Train, and look where ``kind`` says so."""
    output = Path(tempfile.mkdtemp(dir=folder))
    fastlane = f"fastlane={'off' if kind == 'off' else 'grid'}"
    command = ["taskset", "-c", str(core), COMMAND, "worker=cleanrl", *overrides, fastlane, f"output_dir={output}"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    frames = watch(process, output) if kind == "watched" else 0
    assert process.wait() == 0, "the run failed"
    (run_dir,) = (output / "runs").iterdir()
    manifest = json.loads((run_dir / "manifest.json").read_text())
    summary = manifest["summary"]
    return Result(summary["sps"], manifest["resources"]["cpu_seconds"] / summary["env_steps"] * 1e6, frames)


def watch(process: subprocess.Popen[bytes], output: Path) -> int:
    """Look 30 times a second at every environment until the run ends; returns how many frames came."""
    found: list[Path] = []
    while not found and process.poll() is None:
        time.sleep(0.05)
        runs = [run.name for run in (output / "runs").glob("*")]
        found = [path for run in runs for path in Path(layout.FOLDER).glob(f"{layout.PREFIX}{run}_*")]
    reader = Reader(found[0])
    seen = dict.fromkeys(reader.lanes, 0)
    frames = 0
    while process.poll() is None:
        reader.want(reader.lanes)
        for lane, number in seen.items():
            if frame := reader.frame(lane, number):
                seen[lane], frames = frame.number, frames + 1
        time.sleep(1 / 30)
    reader.close()
    return frames


def main() -> None:
    given = dict(enumerate(sys.argv))
    rounds, steps = int(given.get(1, 5)), int(given.get(2, 200_000))
    algo, env = given.get(3, "ppo"), given.get(4, "cartpole")
    overrides = [f"algo={algo}", f"env={env}", "seed=1", f"total_timesteps={steps}", "tracking=none"]
    *others, core = sorted(os.sched_getaffinity(0))
    if others:
        os.sched_setaffinity(0, set(others))
    ratios: dict[str, list[float]] = {kind: [] for kind in GOALS}
    costs: dict[str, list[float]] = {kind: [] for kind in KINDS}
    print(f"{algo} on {env}, {steps} steps; load before: {os.getloadavg()[0]:.2f}")
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            turn = [*KINDS[number % 3 :], *KINDS[: number % 3]]
            results = {kind: run(kind, overrides, core, folder) for kind in turn}
            for kind, result in results.items():
                costs[kind].append(result.cpu_microseconds)
            for kind, values in ratios.items():
                values.append(results[kind].steps_a_second / results["off"].steps_a_second)
            said = ", ".join(f"{kind} {results[kind].steps_a_second:.0f}" for kind in KINDS)
            print(f"steps/s: {said}; {results['watched'].frames} frames seen", flush=True)
    for kind, values in ratios.items():
        spread = f"from {min(values):.3f} to {max(values):.3f}"
        print(f"{kind} / off: median {statistics.median(values):.3f}, {spread}; goal {GOALS[kind]}")
    print("CPU a step: " + ", ".join(f"{kind} {statistics.median(costs[kind]):.1f} µs" for kind in KINDS))
    print(f"load after: {os.getloadavg()[0]:.2f}")


if __name__ == "__main__":
    main()
