"""What can go wrong in a worker, shown by a real worker that does it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time

import pytest
from machine import Machine, processes_of

RANDOM = ["worker=random", "algo=random", "env=cartpole", "total_timesteps=1000"]
IMPATIENT = ["resources.heartbeat_interval=0.2", "resources.heartbeat_timeout=2", "resources.stop_grace=1"]


def misbehave(fault: str) -> list[str]:
    return [*RANDOM, f"+algo.native.misbehave={fault}"]


@pytest.mark.parametrize(
    ("fault", "exit_code", "failure", "reason"),
    [
        ("crash", 1, "user_error", "RuntimeError: the library broke: [red]markup[/red]"),
        ("out_of_memory", 1, "out_of_memory", "MemoryError"),
        ("segfault", 1, "killed", "SIGSEGV"),
        ("leave", 1, "worker_lost", "without completing"),
        ("no_such_fault", 1, "user_error", "no_such_fault"),
    ],
)
def test_failures_have_a_class_and_a_reason(
    machine: Machine, fault: str, exit_code: int, failure: str, reason: str
) -> None:
    machine.run(*misbehave(fault), expect=exit_code)
    manifest = machine.manifest()
    assert manifest["state"] == "FAILED"
    assert manifest["failure"]["class"] == failure
    assert reason in manifest["failure"]["reason"]
    assert reason in machine.stderr  # the user is told, with the last lines of the log
    if failure != "worker_lost":
        assert manifest["failure"]["log_tail"]
        assert manifest["failure"]["log_tail"][-1] in machine.stderr


@pytest.mark.parametrize("fault", ["hang", "freeze"])
def test_a_worker_that_hangs_is_ended_by_the_heartbeat_limit(machine: Machine, fault: str) -> None:
    started = time.monotonic()
    machine.run(*misbehave(fault), *IMPATIENT, expect=1)
    assert time.monotonic() - started < 20
    manifest = machine.manifest()
    assert manifest["state"] == "FAILED"
    assert manifest["failure"]["class"] == "worker_lost"
    assert "no sign of life" in manifest["failure"]["reason"]
    assert not processes_of(machine.run_dir())
    if fault == "hang":  # faulthandler has written where
        assert any("in hang" in line for line in manifest["failure"]["log_tail"])


def test_the_time_limit_stops_with_a_checkpoint(machine: Machine) -> None:
    machine.run(*RANDOM, "total_timesteps=100000000", "resources.time_limit=1.5", expect=1)
    manifest = machine.manifest()
    assert manifest["state"] == "TIMED_OUT"
    assert manifest["failure"]["class"] == "timeout"
    assert len(manifest["checkpoints"]) == 1


def test_a_library_that_swallows_exceptions_still_stops(machine: Machine) -> None:
    machine.run(*misbehave("swallow"), "resources.time_limit=1.5", expect=1)
    assert machine.manifest()["attempts"][0]["exit_code"] == 75


def test_a_deaf_worker_is_killed_after_the_grace(machine: Machine) -> None:
    started = machine.start(*misbehave("deaf"), "resources.stop_grace=1")
    run_id = machine.wait_for(lambda: machine.run_ids())[0]
    machine.wait_for(lambda: machine.events(run_id, "episode"))
    time.sleep(0.3)
    asked = time.monotonic()
    started.send_signal(signal.SIGTERM)
    assert started.wait(20) == 130
    assert 0.9 < time.monotonic() - asked < 5
    assert "ended before it had saved" in started.communicate()[1]
    assert machine.manifest(run_id)["state"] == "CANCELLED"
    assert machine.manifest(run_id)["attempts"][0]["signal"] == "SIGKILL"


def test_a_worker_that_has_completed_and_does_not_end(machine: Machine) -> None:
    machine.run(*misbehave("linger"), "resources.stop_grace=1")
    assert machine.manifest()["state"] == "COMPLETED"
    assert machine.manifest()["attempts"][0]["signal"] == "SIGKILL"


def test_a_second_ctrl_c_kills_at_once(machine: Machine) -> None:
    started = machine.start(*misbehave("deaf"), "resources.stop_grace=600")
    run_id = machine.wait_for(lambda: machine.run_ids())[0]
    machine.wait_for(lambda: machine.events(run_id, "episode"))
    started.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert started.poll() is None
    started.send_signal(signal.SIGINT)
    assert started.wait(10) == 130
    assert "press Ctrl-C again to kill" in started.communicate()[1]
    assert machine.manifest(run_id)["state"] == "CANCELLED"


def test_nohup_outlives_the_terminal(machine: Machine) -> None:
    started = machine.start(*RANDOM, "total_timesteps=100000000", prefix=["nohup"])
    run_id = machine.wait_for_training([])
    started.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    assert started.poll() is None
    started.send_signal(signal.SIGTERM)
    assert started.wait(10) == 130
    assert machine.manifest(run_id)["state"] == "CANCELLED"


def test_floods_of_output_neither_hang_nor_lose_an_event(machine: Machine) -> None:
    machine.run(*misbehave("babble"))
    manifest = machine.manifest()
    assert manifest["state"] == "COMPLETED"
    assert manifest["telemetry"]["lost"] == 0
    assert manifest["telemetry"]["skipped"] == {"bad": 0, "unknown": 0, "oversize": 0, "torn": 0}
    assert sum(manifest["telemetry"]["events"].values()) == len(machine.events())
    log = (machine.run_dir() / "attempts" / "1" / "worker.log").read_bytes()
    assert b"line 99999\n" in log
    assert b"x" * 10_000_000 in log
    assert b"forged" in log  # a child's stdout is the log too


def test_numbers_that_json_lacks_and_long_values(machine: Machine) -> None:
    machine.run(*misbehave("metrics"))
    (event,) = machine.events(kind="metrics")
    assert event["payload"]["loss"] == "NaN"
    assert event["payload"]["bound"] == "Infinity"
    assert event["payload"]["truncated"] == ["text"]
    assert event["payload"]["text"].startswith("üüü")
    assert machine.manifest()["telemetry"]["skipped"]["bad"] == 0


def test_kill_9_of_the_worker(machine: Machine) -> None:
    started = machine.start(*misbehave("family"))
    run_id = machine.wait_for(lambda: machine.run_ids())[0]
    run_dir = machine.run_dir(run_id)
    machine.wait_for(lambda: len(processes_of(run_dir)) == 4)
    worker = machine.wait_for(lambda: machine.manifest(run_id)["attempts"][0]["worker_pid"])
    killed = time.monotonic()
    os.kill(worker, signal.SIGKILL)
    machine.wait_for(lambda: machine.manifest(run_id)["state"] == "FAILED", seconds=2)
    assert time.monotonic() - killed < 2
    assert machine.manifest(run_id)["failure"]["class"] == "killed"
    assert started.wait(5) == 1
    started.communicate()
    assert not processes_of(run_dir)


def test_kill_9_of_the_supervisor_leaves_no_process(machine: Machine) -> None:
    started = machine.start(*misbehave("family"))
    run_id = machine.wait_for(lambda: machine.run_ids())[0]
    run_dir = machine.run_dir(run_id)
    machine.wait_for(lambda: len(processes_of(run_dir)) == 4)
    started.kill()
    started.communicate()
    machine.wait_for(lambda: not processes_of(run_dir), seconds=5)
    # The next look at the run sets right what the supervisor could not write.
    (row,) = json.loads(machine.run("runs", "ls", "--json"))
    assert row["state"] == "FAILED"
    manifest = machine.manifest(run_id)
    assert manifest["failure"]["class"] == "worker_lost"
    assert manifest["summary"]["episodes"] == len(machine.events(run_id, "episode")) > 0
    assert not (run_dir / ".reserve").exists()


@pytest.mark.parametrize("megabytes", [1, 2])
def test_a_full_disk_ends_the_run_with_that_reason(machine: Machine, megabytes: int) -> None:
    """On a file system of its own, which is full soon after the start."""
    disk = machine.folder / "disk"
    disk.mkdir()
    script = (
        f"mount -t tmpfs -o size={megabytes}m tmpfs {disk} && "
        f"{' '.join(machine.command(*RANDOM))} total_timesteps=100000000 output_dir={disk}; code=$?; "
        f"cp -r {disk}/runs {machine.outputs}; exit $code"
    )
    machine.outputs.mkdir()
    done = subprocess.run(
        ["unshare", "--mount", "--map-root-user", "sh", "-c", script],
        cwd=machine.folder,
        env=machine.variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 4, done.stderr
    assert "no space left on device" in done.stderr.lower()
    assert "Traceback (most recent call last)" not in done.stdout
    manifest = machine.manifest()
    assert manifest["state"] == "FAILED"
    assert manifest["failure"]["class"] == "disk_full"
    assert manifest["telemetry"]["skipped"]["torn"] <= 1


def test_two_workers_with_conflicting_pins_side_by_side(machine: Machine) -> None:
    machine.run("workers", "install", "cleanrl")
    long_enough = ["+algo.native.step_seconds=0.005", "total_timesteps=2000"]
    started = [machine.start(*RANDOM, *long_enough), machine.start("worker=cleanrl", "total_timesteps=10000")]
    assert [process.wait(120) for process in started] == [0, 0]
    for process in started:
        process.communicate()
    manifests = [machine.manifest(run_id) for run_id in machine.run_ids()]
    times = [(attempt["started"], attempt["ended"]) for manifest in manifests for attempt in manifest["attempts"]]
    assert max(start for start, _ in times) < min(end for _, end in times)
    packages = {
        manifest["spec"]["worker"]["name"]: (machine.run_dir(manifest["run_id"]) / "packages.txt").read_text()
        for manifest in manifests
    }
    assert "gymnasium==0.29.1" in packages["cleanrl"]
    assert "numpy==1." in packages["cleanrl"]
    assert "gymnasium==1.2.2" in packages["random"]
    assert "numpy==2." in packages["random"]
