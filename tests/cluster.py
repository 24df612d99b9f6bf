"""A real Slurm on this machine, from scripts/slurm, and ways to harm it."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from machine import REPOSITORY, Machine

SCRIPTS = REPOSITORY / "scripts" / "slurm"


class Cluster:
    """Four nodes with four CPUs each in the folder ``path``, of a short name; all of it is one machine."""

    def __init__(self, path: Path, *settings: str) -> None:
        self.path = path
        self._options = [word for setting in settings for word in ("--set", setting)]
        self.variables = {"SLURM_CONF": str(path / "etc" / "slurm.conf")}
        self._earlier: set[str] = set()

    def up(self) -> None:
        """Start what does not run of it."""
        command = [str(SCRIPTS / "up"), "--dir", str(self.path), "--nodes", "4", *self._options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def down(self, *options: str) -> None:
        subprocess.run([SCRIPTS / "down", "--dir", self.path, *options], check=True)

    def kill(self, daemon: str) -> None:
        """Kill ``slurmctld``, or the slurmd of a node, and nothing else."""
        os.kill(int((self.path / "run" / f"{daemon}.pid").read_text()), signal.SIGKILL)

    def ask(self, *command: str) -> str:
        done = subprocess.run(command, env={**os.environ, **self.variables}, capture_output=True, text=True, check=True)
        return done.stdout

    def jobs(self) -> dict[str, str]:
        """States of all jobs of this test, by id, also of those that have ended."""
        lines = self.ask("squeue", "-h", "--array", "--states=all", "--format=%i %T").splitlines()
        return {job: state for job, state in map(str.split, lines) if job not in self._earlier}

    def occupy(self) -> str:
        """A job that takes all nodes, at once where partitions may be preempted; returns its id."""
        said = self.ask("sbatch", "--nodes=4", "--exclusive", "--time=5", "--output=/dev/null", "--wrap=sleep 300")
        found = re.search(r"\d+", said)
        assert found
        return found[0]

    def clear(self, machine: Machine) -> None:
        """End all jobs, wait until they are gone, and forget them."""
        self.ask("scancel", "--user", str(os.getuid()))
        machine.wait_for(lambda: not self.ask("squeue", "-h").strip())
        self._earlier |= self.jobs().keys()


@contextmanager
def instead_of(machine: Machine, command: str, script: str) -> Iterator[None]:
    """While this lasts, ``command`` is the shell ``script``; ``$real`` in it is the real one."""
    folder = machine.folder / "bin"
    folder.mkdir(exist_ok=True)
    file = folder / command
    file.write_text(f"#!/bin/sh\nreal=/usr/bin/{command}\n{script}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    before = machine.variables["PATH"]
    machine.variables["PATH"] = f"{folder}:{before}"
    try:
        yield
    finally:
        machine.variables["PATH"] = before
        file.unlink()
