"""Steps a second of a CleanRL script through mosaic-pipe, against the same script run by hand in the same virtualenv.

Pairs alternate, both with one thread and on the same core; both numbers are the script's own last ``SPS``. The goal
is a ratio of at least 0.98. On a machine that others use too, pairs differ by ten percent, whether the two take turns,
run side by side or share a core: it takes dozens of pairs to tell two percent.

    .venv/bin/python scripts/bench/training.py [PAIRS [STEPS [ALGO [ENV [FLAG=VALUE …]]]]]
    .venv/bin/python scripts/bench/training.py 5 3000 sac_continuous_action pendulum learning-starts=1000
    .venv/bin/python scripts/bench/training.py 5 4096 ppo_atari atari_breakout
"""

from __future__ import annotations

import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

COMMAND = str(Path(sys.executable).with_name("mosaic-pipe"))


def last_sps(text: str) -> int:
    return int(re.findall(r"^SPS: (\d+)$", text, re.MULTILINE)[-1])


@dataclass(frozen=True)
class Job:
    """One training job; ``flags``: the script's own, the same for both."""

    algo: str
    env: str
    steps: int
    flags: tuple[str, ...]

    def overrides(self) -> list[str]:
        """What mosaic-pipe is told."""
        names = (flag.replace("-", "_") for flag in self.flags)
        return [
            f"algo={self.algo}",
            f"env={self.env}",
            "seed=1",
            f"total_timesteps={self.steps}",
            *map("algo.{}".format, names),
        ]


def ask(job: Job) -> tuple[str, list[str]]:
    """The interpreter and the script's command line, as mosaic-pipe has them."""
    from mosaic_pipe.workers.environment import ensure_environment
    from mosaic_pipe.workers.recipe import Recipe
    from mosaic_pipe.workers.registry import find_worker

    command = [COMMAND, "worker=cleanrl", *job.overrides(), "--dry-run"]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    capabilities = find_worker("cleanrl").capabilities
    extras = capabilities.family_extras.get(answer["spec"]["env"]["family"], ())
    recipe = Recipe(find_worker("cleanrl"), tuple(sorted({*extras, *capabilities.algorithms[job.algo].extras})))
    return str(ensure_environment(recipe, print).python), [answer["worker"]["script"], *answer["worker"]["arguments"]]


def through_mosaic_pipe(job: Job, folder: str) -> int:
    overrides = ["worker=cleanrl", *job.overrides(), f"output_dir={folder}/ours"]
    subprocess.run([COMMAND, *overrides], check=True, capture_output=True)
    newest = max(Path(folder, "ours", "runs").iterdir())
    return last_sps((newest / "attempts" / "1" / "worker.log").read_text())


def by_hand(python: str, words: list[str], folder: str) -> int:
    """The script itself, with what it cannot run without: registered environments, spaces that its buffer takes."""
    source = Path(words[0]).read_text(encoding="utf-8")
    start = "import sys, runpy\ntry: import ale_py\nexcept ImportError: pass\n"
    if "import gym\n" in source and "stable_baselines3" in source:  # which refuses the spaces of gym 0.23 itself
        start += "import gymnasium; from cleanrl_worker import gym_api; gym_api.install(gymnasium.make)\n"
    start += "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = [python, "-c", start, *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder, env=variables)
    return last_sps(done.stdout)


def main() -> None:
    given = dict(enumerate(sys.argv))
    pairs, steps = int(given.get(1, 5)), int(given.get(2, 50_000))
    job = Job(given.get(3, "ppo"), given.get(4, "cartpole"), steps, tuple(sys.argv[5:]))
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    python, words = ask(job)
    ratios = []
    print(f"load before: {os.getloadavg()[0]:.2f}")
    with tempfile.TemporaryDirectory() as folder:
        for pair in range(pairs):
            turns = [lambda: through_mosaic_pipe(job, folder), lambda: by_hand(python, words, folder)]
            if pair % 2:
                hand, ours = turns[1](), turns[0]()
            else:
                ours, hand = turns[0](), turns[1]()
            ratios.append(ours / hand)
            print(f"mosaic-pipe {ours} steps/s, by hand {hand} steps/s, ratio {ours / hand:.3f}", flush=True)
    error = statistics.stdev(ratios) / math.sqrt(pairs) if pairs > 1 else math.nan
    print(f"ratio: mean {statistics.mean(ratios):.3f} ± {error:.3f} (standard error), ", end="")
    print(f"median {statistics.median(ratios):.3f}, from {min(ratios):.3f} to {max(ratios):.3f}, {pairs} pairs")
    print(f"load after: {os.getloadavg()[0]:.2f}")


if __name__ == "__main__":
    main()
