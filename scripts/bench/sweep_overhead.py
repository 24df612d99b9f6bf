"""CPU time a no-op point of a sweep costs beyond its worker, against Hydra's own launcher, joblib and submitit local.

Ours runs ``worker=script`` on a script that does nothing: the worker's CPU time, as its manifest tells it, is taken
off. The others call an empty function over the same configs, in their own process or in another, in a virtualenv that
is made for this.

    .venv/bin/python scripts/bench/sweep_overhead.py [POINTS]
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from mosaic_pipe.base.bundled import bundled
from mosaic_pipe.workers import uv

COMMAND = str(Path(sys.executable).with_name("mosaic-pipe"))
PACKAGES = ["hydra-core<1.4", "hydra-joblib-launcher", "hydra-submitit-launcher", "setuptools<81"]
APP = """
import hydra

@hydra.main(version_base="1.3", config_path={conf!r}, config_name="config")
def main(config):
    pass

main()
"""
PLAIN = ["hydra/sweeper=basic", "hydra.sweep.dir=multirun"]
LAUNCHERS = {
    "basic": [],
    "joblib": [f"hydra.launcher.n_jobs={os.cpu_count()}"],
    "submitit_local": [],
}


def cpu_of(command: list[str], folder: Path, variables: dict[str, str]) -> float:
    """Seconds of CPU that ``command`` and everything that it waited for used."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, cwd=folder, env=variables)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def per_point(run: list[float], points: int) -> float:
    """What one point more costs: from a sweep of two, and one of many."""
    two, many = run
    return (many - two) / (points - 2)


def ours(folder: Path, points: int) -> tuple[float, float]:
    """CPU of a point, and how much of it was the worker's."""
    script = folder / "nothing.sh"
    script.write_text("#!/bin/sh\n# @description nothing\ntrue\n")
    script.chmod(0o755)
    used, workers = [], []
    variables = {**os.environ, "MOSAIC_OUTPUT_DIR": str(folder / "outputs")}
    for count in (2, points):
        command = [COMMAND, "-m", "worker=script", f"worker.script={script}", f"seed=range({count})", f"sweep=n{count}"]
        used.append(cpu_of(command, folder, variables))
        runs = [json.loads(file.read_text()) for file in (folder / "outputs" / "runs").glob("*/manifest.json")]
        assert all(run["state"] == "COMPLETED" for run in runs)
        workers.append(sum(run["resources"]["cpu_seconds"] for run in runs if run["sweep"] == f"n{count}"))
    return per_point(used, points), per_point(workers, points)


def main() -> None:
    points = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        uv.make_virtualenv(folder / "venv", sys.executable)
        uv.install(folder / "venv", PACKAGES, constraints=None, directory=folder, torch_backend=None)
        app = folder / "app.py"
        app.write_text(APP.format(conf=str(bundled("conf"))))
        (folder / "warm").mkdir()
        ours(folder / "warm", 3)  # makes the worker's environment, if need be
        total, worker = ours(folder, points)
        print(f"mosaic-pipe, local: {1000 * total:.0f} ms a point, {1000 * worker:.0f} ms of it the worker's own")
        print(f"  beyond the worker: {1000 * (total - worker):.0f} ms a point")
        for launcher, extra in LAUNCHERS.items():
            used = []
            for count in (2, points):
                command = [
                    str(folder / "venv/bin/python"),
                    str(app),
                    "-m",
                    f"hydra/launcher={launcher}",
                    *PLAIN,
                    *extra,
                ]
                used.append(cpu_of([*command, f"seed=range({count})"], folder, dict(os.environ)))
            print(f"{launcher}: {1000 * per_point(used, points):.0f} ms a point")


if __name__ == "__main__":
    main()
