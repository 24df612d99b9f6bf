"""Frames of a job on a compute node, seen from the login node."""

from __future__ import annotations

import sys

import av
import pytest
from cluster import Cluster
from machine import REPOSITORY, Machine

pytestmark = pytest.mark.slurm

ELSEWHERE = ["unshare", "--uts", "sh", "-c", 'hostname elsewhere && exec "$@"', "sh"]
"""Run a command on a machine of another name, which sees the same files."""


def test_another_machine_sees_the_frames_of_a_job(machine: Machine, cluster: Cluster) -> None:
    script = machine.folder / "paint.sh"
    kit, painter = REPOSITORY / "workers" / "mosaic_worker", f"{sys.executable} {REPOSITORY}/tests/painter.py"
    script.write_text(f'export PYTHONPATH={kit}\nexec {painter} "$MOSAIC_FASTLANE" --lanes 2\n')
    machine.run("-m", "worker=script", f"worker.script={script}", "sweep=painted", "hydra/launcher=slurm")
    run_id = machine.wait_for(machine.run_ids)[0]
    folder = machine.run_dir(run_id) / "attempts" / "1" / "fastlane"
    machine.wait_for(folder.exists)
    assert [entry.name for entry in folder.iterdir()] == ["wanted"]

    machine.run("record", run_id, "out.mp4", "--seconds", "3", prefix=ELSEWHERE)
    with av.open(str(machine.folder / "out.mp4")) as container:
        images = [frame.to_image() for frame in container.decode(video=0)]  # type: ignore[no-untyped-call]
    assert images[0].size == (84, 168)  # two of 84x84, one above the other
    assert len({image.tobytes() for image in images}) >= 2
    machine.wait_for(lambda: [entry.name for entry in folder.iterdir()] == ["wanted"])  # nobody looks any more

    machine.run("runs", "cancel", run_id)
    assert not folder.exists()
    machine.run("record", run_id, "again.mp4", prefix=ELSEWHERE, expect=2)
    assert "the run has ended: CANCELLED" in machine.stderr
