"""A sweep of no-op points on a real Slurm whose arrays hold 101 tasks: submission, calls of sbatch, how all end.

Starts the test cluster (``scripts/slurm/up``) and removes it again.

    .venv/bin/python scripts/bench/slurm_sweep.py [POINTS]
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
COMMAND = str(Path(sys.executable).with_name("mosaic-pipe"))
COUNTING = '#!/bin/sh\necho called >> "{log}"\nexec {sbatch} "$@"\n'


def shell(command: str) -> str:
    """What a command line prints."""
    return subprocess.run(command, shell=True, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def counting_sbatch(folder: Path) -> Path:
    """A folder with an sbatch that notes each call and does it."""
    programs = folder / "bin"
    programs.mkdir()
    wrapper = programs / "sbatch"
    wrapper.write_text(COUNTING.format(log=folder / "sbatch.log", sbatch=shell("command -v sbatch")))
    wrapper.chmod(0o755)
    return programs


def states(variables: dict[str, str]) -> Counter[str]:
    """How many points are in which state."""
    command = [COMMAND, "sweep", "status", "many", "--json"]
    said = subprocess.run(command, check=True, capture_output=True, text=True, env=variables).stdout
    return Counter(point["state"] for point in json.loads(said)["points"])


def main() -> None:
    points = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    scripts = REPOSITORY / "scripts" / "slurm"
    with tempfile.TemporaryDirectory(prefix="slurm-") as name:
        folder = Path(name)
        cluster = folder / "c"
        shell(f"{scripts}/up --dir {cluster} --nodes 2 --cpus 8 --set MaxArraySize=101")
        try:
            script = folder / "nothing.sh"
            script.write_text("#!/bin/sh\n# @description nothing\ntrue\n")
            script.chmod(0o755)
            path = f"{counting_sbatch(folder)}:{os.environ['PATH']}"
            ours = {
                "SLURM_CONF": str(cluster / "etc/slurm.conf"),
                "MOSAIC_OUTPUT_DIR": str(folder / "outputs"),
                "PATH": path,
            }
            variables = {**os.environ, **ours}
            command = [COMMAND, "-m", "worker=script", f"worker.script={script}", f"seed=range({points})", "sweep=many"]
            started = time.monotonic()
            subprocess.run(
                [*command, "hydra/launcher=slurm"], check=True, env=variables, cwd=folder, capture_output=True
            )
            wall = time.monotonic() - started
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            calls = (folder / "sbatch.log").read_text().count("called")
            print(f"{points} points submitted in {wall:.1f} s ({used.ru_utime + used.ru_stime:.1f} s of CPU)")
            print(f"sbatch was called {calls} times", flush=True)
            subprocess.run(
                [COMMAND, "sweep", "watch", "many"], check=True, env=variables, cwd=folder, capture_output=True
            )
            print(f"after {time.monotonic() - started:.0f} s: {dict(states(variables))}")
        finally:
            shell(f"{scripts}/down --dir {cluster}")


if __name__ == "__main__":
    main()
