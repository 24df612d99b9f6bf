"""The other nodes of a Slurm job: each becomes a part of the run's Ray.

The worker, on the first node, starts this module as a program on the others, by ``srun``:
``python -m rllib_worker.nodes HEAD CPUS GPUS``. There it starts Ray, and ends it, with its files, when its stdin is
closed, which the end of the worker does however it comes, or on SIGTERM, which Slurm sends when the job is over.
"""

import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from mosaic_worker.errors import UserError
from mosaic_worker.protocol import ENV_SCRATCH, ENV_TOKEN

from rllib_worker.config import RllibConfig

OBJECT_STORE = 200 << 20
"""Bytes in /dev/shm of each node; what does not fit goes to disk."""
_PATIENCE = 120.0
"""Seconds that the nodes have to start."""
_LETTING_GO = 20.0
"""Seconds that the nodes have to end."""


def own_address() -> str:
    """The address at which Slurm reaches this node.

    Raises:
        UserError: this is no Slurm job.
    """
    try:
        show = ["scontrol", "show", "node", os.environ["SLURMD_NODENAME"], "--oneliner"]
        said = subprocess.run(show, capture_output=True, text=True, check=True).stdout
    except KeyError as error:
        raise UserError("resources.nodes: several nodes are for jobs on Slurm") from error
    found = re.search(r"NodeAddr=(\S+)", said)
    return socket.gethostbyname(found[1] if found else os.environ["SLURMD_NODENAME"])


class OtherNodes:
    """Ray's parts on them."""

    def __init__(self, head: str, config: RllibConfig) -> None:
        """Start them; ``head``: where Ray listens on this node."""
        self._count = config.spec.resources.nodes - 1
        layout, gpus = config.layout, config.spec.resources.gpus
        step = [f"--nodes={self._count}", f"--ntasks={self._count}", "--ntasks-per-node=1", "--relative=1"]
        step += [
            f"--cpus-per-task={config.spec.resources.cpus}",
            "--cpu-bind=none",
            "--kill-on-bad-exit",
            "--export=ALL",
        ]
        program = [sys.executable, "-m", __name__, head, str(layout.cpus_per_node), str(gpus)]
        # What runs there is Slurm's to end: this attempt's token and directory mean nothing on another machine.
        variables = {name: value for name, value in os.environ.items() if name not in (ENV_TOKEN, ENV_SCRATCH)}
        # Nor is srun killed with the worker: it passes on that its stdin is closed, and ends when they have.
        self._srun = subprocess.Popen(
            ["srun", *step, *program], stdin=subprocess.PIPE, env=variables, start_new_session=True
        )

    def wait(self, alive: Callable[[], Any]) -> None:
        """Wait until all are there; ``alive``: how many nodes Ray has.

        Raises:
            RuntimeError: they are not coming.
        """
        deadline = time.monotonic() + _PATIENCE
        while alive() <= self._count:
            if self._srun.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("Ray did not start on the job's other nodes; worker.log has what srun and Ray said")
            time.sleep(0.2)

    def close(self) -> None:
        """End them."""
        assert self._srun.stdin is not None
        self._srun.stdin.close()
        try:
            self._srun.wait(_LETTING_GO)
        except subprocess.TimeoutExpired:
            self._srun.kill()


def main(head: str, cpus: str, gpus: str) -> None:
    """Be a part of the Ray at ``head`` until told to end."""
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)  # Slurm's warning is for the supervisor
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    address, directory = own_address(), tempfile.mkdtemp(prefix="mosaic-")
    start = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", f"--address={head}"]
    start += [f"--node-ip-address={address}", f"--num-cpus={cpus}", f"--num-gpus={gpus}"]
    start += [f"--object-store-memory={OBJECT_STORE}", f"--temp-dir={directory}/ray"]
    try:
        mark = f"MOSAIC_NODE={directory}"
        ray = subprocess.Popen(["env", mark, *start], stdin=subprocess.DEVNULL)
        try:
            ended = os.pidfd_open(ray.pid)
            while 0 in (ready := select.select([0, ended], [], [])[0]) and os.read(0, 1):
                pass
            if 0 not in ready:
                sys.exit("Ray ended by itself")  # srun then ends the others
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            ray.kill()  # asked to end, it would wait for its actors
            ray.wait()
            _kill_marked(mark.encode())
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _kill_marked(mark: bytes) -> None:
    """Ray's agents outlive it."""
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                os.kill(int(entry.name), signal.SIGKILL)


if __name__ == "__main__":
    main(*sys.argv[1:])
