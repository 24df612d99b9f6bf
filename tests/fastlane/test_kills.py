"""``kill -9`` of who writes frames, who looks after them and who watches, in each order."""

from __future__ import annotations

import contextlib
import itertools
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.request import HTTPCookieProcessor, build_opener

import pytest
from machine import REPOSITORY, Machine, kill, processes_of
from viewing import Viewer


@dataclass
class Scene:
    """A run that shows frames, and a recording of it; process ids by who it is."""

    machine: Machine
    run_id: str
    supervisor: subprocess.Popen[str]
    reader: subprocess.Popen[str]
    writer: int

    def kill(self, who: str) -> None:
        pids = {"supervisor": self.supervisor.pid, "reader": self.reader.pid, "writer": self.writer}
        with contextlib.suppress(ProcessLookupError):
            kill(pids[who])

    def segments(self) -> list[str]:
        return [path.name for path in Path("/dev/shm").iterdir() if self.run_id in path.name]

    def check_nothing_is_left(self) -> None:
        self.machine.wait_for(lambda: not processes_of(self.machine.run_dir(self.run_id)))
        self.machine.wait_for(lambda: not self.segments())
        self.machine.run("runs", "ls")  # where the supervisor is dead, whoever looks next writes the end
        assert self.machine.manifest(self.run_id)["state"] == "FAILED"


@pytest.fixture
def scene(machine: Machine) -> Scene:
    script = machine.folder / "paint.sh"
    kit, painter = REPOSITORY / "workers" / "mosaic_worker", REPOSITORY / "tests" / "painter.py"
    script.write_text(f'export PYTHONPATH={kit}\nexec {sys.executable} {painter} "$MOSAIC_FASTLANE"\n')
    supervisor = machine.start("worker=script", f"worker.script={script}")
    run_id = machine.wait_for(machine.run_ids)[0]
    writer = machine.wait_for(lambda: writers(machine.run_dir(run_id)))[0]
    reader = machine.start("record", run_id, "out.gif", "--seconds", "600")
    machine.wait_for((machine.folder / ".out.gif.part").exists)
    return Scene(machine, run_id, supervisor, reader, writer)


def writers(run_dir: Path) -> list[int]:
    return [pid for pid in processes_of(run_dir) if b"painter.py" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_a_reader_that_is_killed_is_not_missed(scene: Scene) -> None:
    scene.kill("reader")
    with pytest.raises(subprocess.TimeoutExpired):
        scene.supervisor.wait(1)
    assert writers(scene.machine.run_dir(scene.run_id)) == [scene.writer]
    assert scene.machine.manifest()["state"] == "RUNNING"
    scene.machine.run("record", scene.run_id, "again.gif", "--seconds", "0.3")
    scene.machine.run("runs", "cancel", scene.run_id)
    assert not scene.segments()


@pytest.mark.parametrize("killed", ["writer", "supervisor"])
def test_the_recording_of_a_run_that_is_killed_is_kept(scene: Scene, killed: str) -> None:
    scene.kill(killed)
    assert scene.reader.wait(60) == 0
    assert (scene.machine.folder / "out.gif").exists()
    assert scene.supervisor.wait(60) == (1 if killed == "writer" else -signal.SIGKILL)
    scene.check_nothing_is_left()


@pytest.mark.parametrize("order", [*itertools.permutations(["writer", "supervisor", "viewer"])], ids=" ".join)
def test_nothing_is_left_when_all_are_killed(scene: Scene, order: tuple[str, ...]) -> None:
    viewer = Viewer(scene.machine, scene.run_id)
    browser = build_opener(HTTPCookieProcessor())
    assert scene.segments() == [f"mosaic_fl_{scene.run_id}_1"]
    with browser.open(viewer.at(f"/run/{scene.run_id}/frames.mjpeg"), timeout=60) as stream:
        assert b"image/jpeg" in stream.read(2000)
        for who in order:
            if who == "viewer":
                assert stream.read(1)  # it lives until now, whoever else was killed
                kill(viewer.process.pid)
            else:
                scene.kill(who)
    assert viewer.process.wait(60) == -signal.SIGKILL
    assert scene.reader.wait(60) == 0  # a recording goes on until there is nothing more
    scene.supervisor.wait(60)
    scene.check_nothing_is_left()
