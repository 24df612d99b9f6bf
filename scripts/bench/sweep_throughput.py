"""Runs finished in a time: a sweep of CleanRL's PPO here, against joblib's launcher calling upstream's script.

The naive way is one Hydra job for each seed that starts upstream's script in the same virtualenv, as many at once as
there are cores (hydra-joblib-launcher), and says nothing of threads. Pairs alternate.

    .venv/bin/python scripts/bench/sweep_throughput.py [RUNS [STEPS [PAIRS]]]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mosaic_pipe.workers import uv
from mosaic_pipe.workers.environment import ensure_environment
from mosaic_pipe.workers.recipe import Recipe
from mosaic_pipe.workers.registry import find_worker

COMMAND = str(Path(sys.executable).with_name("mosaic-pipe"))
PACKAGES = ["hydra-core<1.4", "hydra-joblib-launcher", "setuptools<81"]
APP = """
import subprocess
import hydra

@hydra.main(version_base="1.3", config_path=None)
def main(config):
    subprocess.run([{python!r}, {script!r}, f"--seed={{config.seed}}", "--total-timesteps={steps}"], check=True)

main()
"""


def seconds(command: list[str], folder: Path) -> float:
    """Wall time of ``command``."""
    started = time.monotonic()
    variables = {**os.environ, "MOSAIC_OUTPUT_DIR": str(folder / "outputs")}
    subprocess.run(command, check=True, capture_output=True, cwd=folder, env=variables)
    return time.monotonic() - started


def upstream_script() -> tuple[str, str]:
    """The worker's interpreter, and the path of CleanRL's ppo.py in its virtualenv."""
    answer = json.loads(subprocess.run([COMMAND, "--dry-run"], check=True, capture_output=True, text=True).stdout)
    python = ensure_environment(Recipe(find_worker("cleanrl")), print).python
    return str(python), answer["worker"]["script"]


def main() -> None:
    given = dict(enumerate(sys.argv))
    runs, steps, pairs = int(given.get(1, 16)), int(given.get(2, 20_000)), int(given.get(3, 2))
    python, script = upstream_script()
    ratios = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        uv.make_virtualenv(folder / "venv", sys.executable)
        uv.install(folder / "venv", PACKAGES, constraints=None, directory=folder, torch_backend=None)
        (folder / "app.py").write_text(APP.format(python=python, script=script, steps=steps))
        naive = [str(folder / "venv/bin/python"), "app.py", "-m", "hydra/launcher=joblib", f"+seed=range({runs})"]
        naive += [f"hydra.launcher.n_jobs={os.cpu_count()}"]
        for pair in range(pairs):
            ours = [COMMAND, "-m", f"total_timesteps={steps}", f"seed=range({runs})", f"sweep=pair{pair}"]
            took = {}
            for way in ("ours", "naive") if pair % 2 else ("naive", "ours"):
                took[way] = seconds(ours if way == "ours" else naive, folder)
            ratios.append(took["naive"] / took["ours"])
            print(
                f"{runs} runs of {steps} steps: mosaic-pipe {took['ours']:.1f} s, joblib {took['naive']:.1f} s,",
                end=" ",
            )
            print(f"ratio {ratios[-1]:.2f}", flush=True)
    print(f"ratio: from {min(ratios):.2f} to {max(ratios):.2f}, {pairs} pairs, {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
