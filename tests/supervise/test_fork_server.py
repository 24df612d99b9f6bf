"""Processes that a fork server starts: like any other, and started afresh where the server is not to be had."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mosaic_worker.protocol import ENV_TOKEN

from mosaic_pipe.supervise import fork_server
from mosaic_pipe.supervise.fork_server import ForkServer
from mosaic_pipe.supervise.process import WorkerProcess
from mosaic_pipe.supervise.start import Start

PROGRAM = """
import json, os, random, sys, time
forked = "--fork-server" in sys.argv
arguments = sys.argv[2:]
if forked:
    from mosaic_worker.fork_server import serve
    arguments = serve(int(sys.argv[-1]), [sys.argv[1]])
if arguments == ["orphan"]:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(60)
        os._exit(0)
    os.wait()
said = {"forked": forked, "arguments": arguments, "parent": os.getppid(), "session": os.getsid(0)}
said |= {"cores": sorted(os.sched_getaffinity(0)), "folder": os.getcwd(), "variables": dict(os.environ)}
said |= {"random": random.random(), "path": sys.path[0]}
if "numpy" in sys.modules:
    said["numpy"] = sys.modules["numpy"].random.random()
print(json.dumps(said), flush=True)
print("to the log", file=sys.stderr)
if arguments == ["wait"]:
    time.sleep(60)
sys.exit(7)
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Callable[[str], ForkServer]]:
    """Makes servers that import a module, whose source may be given."""
    (tmp_path / "program.py").write_text(PROGRAM)
    made = []

    def make(source: str, name: str = "library") -> ForkServer:
        (tmp_path / "library.py").write_text(source)
        made.append(ForkServer([sys.executable, str(tmp_path / "program.py"), name], variables(tmp_path)))
        return made[-1]

    yield make
    for one in made:
        one.close()
    ctypes.CDLL(None).prctl(36, 0, 0, 0, 0)  # this process is no subreaper any more


def variables(folder: Path) -> dict[str, str]:
    """The locale is said, or Python sets it; NumPy's BLAS starts no threads."""
    ours = {"PYTHONPATH": str(folder), "LC_ALL": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1"}
    return {"PATH": os.environ["PATH"], **ours}


def start(folder: Path, *arguments: str) -> Start:
    return Start(
        program=[sys.executable, str(folder / "program.py"), "library"],
        arguments=arguments,
        variables={**variables(folder), "MINE": "Füß\udcff", ENV_TOKEN: "0" * 32},
        cores=frozenset([0]),
        folder=folder,
        events=folder / "events",
        log=folder / "log",
    )


def ready(one: ForkServer) -> ForkServer:
    while one.is_importing():
        time.sleep(0.01)
    return one


def said(folder: Path) -> dict[str, Any]:
    """What the newest process said, once it has."""
    for _ in range(1000):
        lines = (folder / "events").read_text().splitlines()
        if lines:
            (folder / "events").unlink()
            answer: dict[str, Any] = json.loads(lines[-1])
            return answer
        time.sleep(0.01)
    raise AssertionError((folder / "log").read_text())


def exit_code(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_forked_process_is_like_a_new_one(server: Callable[..., ForkServer], tmp_path: Path) -> None:
    forks = ready(server("import sys; print('imported', file=sys.stderr)"))
    pid = forks.spawn(start(tmp_path, "--config", "here"))
    forked = said(tmp_path)
    assert exit_code(pid) == 7
    assert forked["forked"] is True
    assert (tmp_path / "log").read_text() == "imported\nto the log\n"

    (tmp_path / "log").unlink()
    forks.close()
    pid = forks.spawn(start(tmp_path, "--config", "here"))
    fresh = said(tmp_path)
    assert exit_code(pid) == 7
    assert fresh["forked"] is False
    assert (tmp_path / "log").read_text() == "to the log\n"
    for key in ("arguments", "cores", "folder", "variables"):
        assert forked[key] == fresh[key], key
    assert forked["parent"] == fresh["parent"] == os.getpid()
    assert forked["session"] != fresh["session"]
    assert os.getsid(0) not in (forked["session"], fresh["session"])
    assert forked["path"] == str(tmp_path)


def test_forks_do_not_share_their_luck(server: Callable[..., ForkServer], tmp_path: Path) -> None:
    forks = ready(server("import numpy"))
    luck = []
    for _ in range(2):
        pid = forks.spawn(start(tmp_path))
        answer = said(tmp_path)
        exit_code(pid)
        assert answer["forked"]
        luck += [answer["random"], answer["numpy"]]
    assert len(set(luck)) == 4


def test_the_end_of_the_server_ends_none_of_its_workers(server: Callable[..., ForkServer], tmp_path: Path) -> None:
    forks = ready(server(""))
    pid = forks.spawn(start(tmp_path, "wait"))
    said(tmp_path)
    forks.close()
    time.sleep(0.2)
    assert os.waitpid(pid, os.WNOHANG) == (0, 0)
    os.kill(pid, signal.SIGKILL)
    assert exit_code(pid) == -signal.SIGKILL


@pytest.mark.parametrize(
    "library",
    [
        "import threading, time; threading.Thread(target=time.sleep, args=[60], daemon=True).start()",
        "raise ImportError('libcuda.so.1')",
        "import os; os._exit(3)",
        "import time; time.sleep(60)",
    ],
    ids=["starts a thread", "cannot be imported", "ends the process", "hangs"],
)
def test_what_cannot_be_forked_is_started(
    library: str, server: Callable[..., ForkServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "sleep(60)" in library:
        monkeypatch.setattr(fork_server, "_IMPORT_SECONDS", 1.0)
    forks = ready(server(library))
    pid = forks.spawn(start(tmp_path))
    assert said(tmp_path)["forked"] is False
    assert exit_code(pid) == 7


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_server_that_is_lost(
    number: signal.Signals, server: Callable[..., ForkServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fork_server, "_ANSWER_SECONDS", 0.5)
    forks = ready(server(""))
    os.kill(forks.pid, number)
    pid = forks.spawn(start(tmp_path))
    assert said(tmp_path)["forked"] is False
    assert exit_code(pid) == 7
    assert not Path(f"/proc/{forks.pid}").exists()


def test_nothing_of_a_forked_worker_is_left(server: Callable[..., ForkServer], tmp_path: Path) -> None:
    forks = ready(server(""))
    process = WorkerProcess(start(tmp_path, "orphan"), 1, forks.spawn, None)
    assert said(tmp_path)["forked"]
    assert process.wait(10)
    children = f"/proc/self/task/{os.getpid()}/children"
    orphans = set(Path(children).read_text().split())
    process.reap()
    assert len(orphans - set(Path(children).read_text().split())) == 3  # the worker, its grandchild, the guard
    assert str(forks.pid) in Path(children).read_text().split()
