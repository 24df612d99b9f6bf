"""One Slurm for all tests; each has an empty queue, and none asks for accounting, which there is none of."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster import Cluster, instead_of
from machine import Machine


@pytest.fixture(scope="session")
def slurm() -> Iterator[Cluster]:
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder:  # pytest's own paths are too long for sockets
        cluster = Cluster(Path(folder) / "c", "MaxArraySize=5", "KillWait=2", "SlurmdTimeout=5", "MessageTimeout=3")
        cluster.up()
        yield cluster
        cluster.down()


@pytest.fixture
def cluster(slurm: Cluster, machine: Machine) -> Iterator[Cluster]:
    """The cluster, whole again and empty; ``machine`` is where users submit to it."""
    slurm.up()
    machine.variables |= slurm.variables
    asked = machine.folder / "asked-sacct"
    with instead_of(machine, "sacct", f"touch {asked}; exec $real"):
        yield slurm
    slurm.up()
    slurm.clear(machine)
    assert not asked.exists()
