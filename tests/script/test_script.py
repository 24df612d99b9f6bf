"""Scripts of the user: what they say, how they end, and who may name them."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest
from machine import Machine, processes_of

SCRIPT = ["worker=script", "worker.script=./train.sh"]
HEADER = """#!/bin/bash
# @description: nothing, in two phases
# @env_family: minigrid
# @phases: small, large
# @total_timesteps: 6000
"""

NOT_UNDERSTOOD = [
    ("hello world", "expected one of phase, steps, episode, metric, checkpoint, artifact, warning"),
    ("steps", "expected a whole number"),
    ("steps 1e400", "expected a whole number"),
    ("steps 4", "all steps so far, and there were 5 before"),
    ("episode return=1", "expected return=NUMBER length=NUMBER"),
    ("episode return=1 length=2 more=3", "expected return=NUMBER length=NUMBER"),
    ("episode return=one length=2", "could not convert string to float"),
    ("episode return=1 length=2.5", "expected a whole number"),
    ("metric loss 0.3", "expected NAME=VALUE"),
    ("metric", "expected NAME=NUMBER"),
    ("metric sps=3", "none of the names env_steps, wall_time, sps"),
    ("phase", "expected the name"),
    ("checkpoint nothing.pt", "there is no such file"),
    ("checkpoint ../../../train.sh", "inside the run directory"),
    ("checkpoint", "inside the run directory"),
    ("artifact video", "inside the run directory"),
    ("artifact video nothing.mp4", "expected KIND PATH"),
]

Write = Callable[[str], None]


@pytest.fixture
def script(machine: Machine) -> Write:
    """Writes the body of the script that is called."""

    def write(body: str) -> None:
        (machine.folder / "train.sh").write_text(HEADER + body)

    return write


def log(machine: Machine) -> bytes:
    return (machine.run_dir() / "attempts" / "1" / "worker.log").read_bytes()


def warnings(machine: Machine) -> list[str]:
    found: list[str] = machine.manifest()["telemetry"]["warnings"]
    return found


def failure(machine: Machine) -> dict[str, Any]:
    found: dict[str, Any] = machine.manifest()["failure"]
    return found


def test_what_a_script_says_is_in_the_manifest(machine: Machine, script: Write) -> None:
    script("""
        echo "seed $MOSAIC_SEED, $MOSAIC_TOTAL_TIMESTEPS steps of $MOSAIC_ENV_ID in $MOSAIC_RUN_DIR = $PWD"
        echo "beside me: $(ls "$(dirname "$0")"/train.sh)" >&2
        echo "mosaic: phase small"
        echo "mosaic: steps 2000"
        echo "mosaic: episode return=1.5 length=150"
        echo "mosaic: phase large"
        echo "mosaic: steps 6e3"
        echo "mosaic: episode return=-0.5 length=50"
        echo "mosaic: metric losses/policy=0.25 lr=1e-3 bound=inf"
        echo weights > checkpoints/last.pt
        echo "mosaic: checkpoint checkpoints/last.pt"
        mkdir tb
        echo "mosaic: artifact tensorboard tb"
        echo "mosaic: warning the GPU is hot"
    """)
    machine.run(*SCRIPT, "seed=7")
    run_dir, manifest = machine.run_dir(), machine.manifest()
    assert manifest["state"] == "COMPLETED"
    assert manifest["spec"]["worker"]["script"] == str(machine.folder / "train.sh")
    stages = [(stage["index"], stage["name"], stage["env_steps"]) for stage in manifest["stages"]]
    assert stages == [(0, "small", 0), (1, "large", 2000)]
    summary = manifest["summary"]
    assert (summary["env_steps"], summary["episodes"], summary["episode_return_mean"]) == (6000, 2, 0.5)
    assert [checkpoint["path"] for checkpoint in manifest["checkpoints"]] == ["checkpoints/last.pt"]
    assert manifest["checkpoints"][0]["env_steps"] == 6000
    assert manifest["tracking"]["tensorboard"] == "tb"
    assert warnings(machine) == ["the GPU is hot"]
    (metrics,) = machine.events(kind="metrics")
    assert (metrics["payload"]["losses/policy"], metrics["payload"]["lr"]) == (0.25, 0.001)
    assert metrics["payload"]["bound"] == "Infinity"
    assert manifest["artifacts"][0] == {"kind": "script", "path": "script.sh", "url": None}
    assert (run_dir / "script.sh").read_text() == (machine.folder / "train.sh").read_text()
    assert log(machine).splitlines() == [
        f"seed 7, 6000 steps of unnamed in {run_dir} = {run_dir}".encode(),
        f"beside me: {machine.folder}/train.sh".encode(),
    ]
    assert f"script train.sh on unnamed, seed 7, {6000} steps" in machine.stderr
    assert str(machine.folder / "train.sh") in machine.run("runs", "show", "last")


def test_the_command_line_beats_the_header_and_the_header_the_configs(machine: Machine, script: Write) -> None:
    script("")
    spec = json.loads(machine.run(*SCRIPT, "--dry-run"))["spec"]
    assert (spec["total_timesteps"], spec["env"]["family"], spec["env"]["id"]) == (6000, "minigrid", "unnamed")
    assert spec["labels"] == {"description": "nothing, in two phases"}
    answer = json.loads(machine.run(*SCRIPT, "total_timesteps=9", "env=cartpole", "+labels.description=d", "--dry-run"))
    spec, worker = answer["spec"], answer["worker"]
    assert (spec["total_timesteps"], spec["env"]["family"]) == (9, "classic_control")
    assert spec["labels"] == {"description": "d"}
    assert (worker["total_timesteps"], worker["env_id"]) == (9, "CartPole-v1")
    assert worker["phases"] == ["small", "large"]
    spec = json.loads(machine.run(*SCRIPT, "env.family=atari", "--dry-run"))["spec"]
    assert spec["env"]["family"] == "atari"
    (machine.folder / "train.sh").write_text("echo no header\n")
    spec = json.loads(machine.run(*SCRIPT, "--dry-run"))["spec"]
    assert (spec["total_timesteps"], spec["env"]["family"], spec["labels"]) == (100000, "any", {})


def test_a_multirun_of_scripts(machine: Machine, script: Write) -> None:
    script("echo mosaic: steps $MOSAIC_TOTAL_TIMESTEPS")
    (machine.folder / "other.sh").write_text("echo mosaic: steps 5\n")
    machine.run("-m", "worker=script", "worker.script=./train.sh,./other.sh")
    steps = [machine.manifest(run_id)["summary"]["env_steps"] for run_id in machine.run_ids()]
    assert sorted(steps) == [5, 6000]  # the order of a sweep's run ids is that of hashes


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("echo said; echo first >&2; echo 'No such [red]GPU[/red]' >&2; echo; exit 3", "exit code 3: No such [red]GPU"),
        ("printf 'no newline' >&2; exit 1", "exit code 1: no newline"),
        ("exit 1", "exit code 1: nothing on stderr"),
        ("kill -SEGV $$", "was killed by SIGSEGV"),
        ("set -e; false; echo never", "exit code 1"),
        ("no_such_command", "exit code 127:"),
        ("if", "exit code 2:"),
        (r"printf '\xff\xfe\n' >&2; exit 9", "exit code 9: \ufffd"),
    ],
)
def test_a_script_that_fails(machine: Machine, script: Write, body: str, reason: str) -> None:
    script(f"echo mosaic: steps 10\n{body}\n")
    machine.run(*SCRIPT, expect=1)
    assert machine.manifest()["state"] == "FAILED"
    assert failure(machine)["class"] == "user_error"
    assert failure(machine)["reason"].startswith("train.sh ")
    assert reason in failure(machine)["reason"]
    assert machine.manifest()["summary"]["env_steps"] == 10
    assert b"Traceback" not in log(machine)  # the user's mistake, not ours


def test_sigterm_reaches_the_script_which_saves(machine: Machine, script: Write) -> None:
    script("""
        trap 'echo saved > model.pt; echo mosaic: steps 300; echo mosaic: checkpoint model.pt; exit 0' TERM
        echo "mosaic: steps 200"
        while true; do sleep 0.05; done
    """)
    started = machine.start(*SCRIPT)
    run_id = machine.wait_for(lambda: machine.run_ids())[0]
    machine.wait_for(lambda: machine.events(run_id, "artifact") and len(processes_of(machine.run_dir())) >= 3)
    time.sleep(0.2)
    started.send_signal(signal.SIGTERM)
    assert started.wait(20) == 130
    manifest = machine.manifest()
    assert manifest["state"] == "CANCELLED"
    assert manifest["failure"] is None
    assert [(c["path"], c["env_steps"]) for c in manifest["checkpoints"]] == [("model.pt", 300)]
    assert not processes_of(machine.run_dir())


def test_a_program_that_the_script_runs_may_save_though_bash_is_gone(machine: Machine, script: Write) -> None:
    (machine.folder / "slow.sh").write_text("""
        trap 'sleep 0.7; echo saved > model.pt; echo mosaic: checkpoint model.pt; exit' TERM
        echo ready; while true; do sleep 0.05; done
    """)
    script('bash "$(dirname "$0")/slow.sh"\necho after >&2')
    started = machine.start(*SCRIPT)
    machine.wait_for(lambda: b"ready" in log(machine))
    started.send_signal(signal.SIGTERM)
    assert started.wait(20) == 130
    assert machine.manifest()["state"] == "CANCELLED"
    assert len(machine.manifest()["checkpoints"]) == 1


def test_a_deaf_script_is_killed_after_the_grace(machine: Machine, script: Write) -> None:
    script("trap '' TERM; echo ready; while true; do sleep 0.05; done")
    started = machine.start(*SCRIPT, "resources.stop_grace=1")
    machine.wait_for(lambda: b"ready" in log(machine))
    asked = time.monotonic()
    started.send_signal(signal.SIGTERM)
    assert started.wait(20) == 130
    assert 0.9 < time.monotonic() - asked < 6
    assert machine.manifest()["state"] == "CANCELLED"
    assert not processes_of(machine.run_dir())


def test_the_time_limit(machine: Machine, script: Write) -> None:
    script("sleep 600")
    machine.run(*SCRIPT, "resources.time_limit=1", expect=1)
    assert machine.manifest()["state"] == "TIMED_OUT"
    assert not processes_of(machine.run_dir())


def test_output_is_the_sign_of_life(machine: Machine, script: Write) -> None:
    limits = ["resources.heartbeat_interval=0.2", "resources.heartbeat_timeout=1.5", "resources.stop_grace=1"]
    script("for i in $(seq 12); do printf . >&2; sleep 0.25; done")
    machine.run(*SCRIPT, *limits)
    script("sleep 600")
    machine.run(*SCRIPT, *limits, expect=1)
    assert failure(machine)["class"] == "worker_lost"
    assert not processes_of(machine.run_dir())


def test_garbage_on_stdout_harms_nobody(machine: Machine, script: Write) -> None:
    script(r"""
        printf '\xff\xfe\x00 undecodable\n'
        printf 'mosaic: phase \xff\n'
        head -c 3000000 /dev/zero | tr '\0' x; echo
        printf 'mosaic: warning '; head -c 200000 /dev/zero | tr '\0' y; echo
        echo '{"event":"episode","payload":{}}'
        for i in $(seq 100000); do echo "line $i"; done
        echo "not at the start mosaic: steps 99"
        echo "mosaic:steps 7"
        printf 'mosaic: ste'; sleep 0.3; printf 'ps 8\r\n'
        printf 'mosaic: steps 9'
    """)
    machine.run(*SCRIPT)
    manifest = machine.manifest()
    assert manifest["summary"]["env_steps"] == 9
    assert manifest["telemetry"]["skipped"] == {"bad": 0, "unknown": 0, "oversize": 0, "torn": 0}
    assert [stage["name"] for stage in manifest["stages"]] == ["\ufffd"]
    assert warnings(machine) == ["the script's header does not name the phase '\ufffd'"]
    text = log(machine)
    assert text.startswith(b"\xff\xfe\x00 undecodable\n" + b"x" * 3_000_000 + b"\nmosaic: warning yyy")
    assert b"y" * 200_000 in text
    assert text.endswith(b"line 100000\nnot at the start mosaic: steps 99\n")


@pytest.mark.parametrize("reports", [NOT_UNDERSTOOD[::2], NOT_UNDERSTOOD[1::2]], ids=["some", "others"])
def test_a_report_that_is_not_understood_is_a_warning(
    machine: Machine, script: Write, reports: list[tuple[str, str]]
) -> None:
    script("\n".join(["echo mosaic: steps 5", *(f"echo 'mosaic: {said}'" for said, _ in reports)]))
    machine.run(*SCRIPT)
    for (said, why), warning in zip(reports, warnings(machine), strict=True):
        assert warning.startswith(f"not understood: 'mosaic: {said}': ")
        assert why in warning
    assert log(machine).decode() == "".join(f"mosaic: {said}\n" for said, _ in reports)
    assert machine.manifest()["summary"]["env_steps"] == 5


def test_many_reports_that_are_not_understood_are_few_warnings(machine: Machine, script: Write) -> None:
    script("for i in $(seq 1000); do echo mosaic: oops; done; echo 'mosaic: phase odd'")
    machine.run(*SCRIPT)
    assert len(warnings(machine)) == 12
    assert "the phase 'odd'" in warnings(machine)[-1]
    assert log(machine).count(b"mosaic: oops\n") == 1000


def test_streams_closed_early_and_children_left_behind(machine: Machine, script: Write) -> None:
    script("""
        echo "mosaic: steps 1"
        sleep 600 &
        (while true; do echo noise; sleep 0.01; done) &
        exec >&- 2>&-
        sleep 0.5
        echo kept > file
    """)
    started = time.monotonic()
    machine.run(*SCRIPT)
    assert time.monotonic() - started < 30
    assert machine.manifest()["state"] == "COMPLETED"
    assert (machine.run_dir() / "file").read_text() == "kept\n"  # the end was waited for
    assert not processes_of(machine.run_dir())


def test_kill_9_of_the_script(machine: Machine, script: Write) -> None:
    script("kill -9 $$")
    machine.run(*SCRIPT, expect=1)
    assert "was killed by SIGKILL" in failure(machine)["reason"]


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["worker=script"], "worker.script (worker/script.yaml): has no value yet"),
        (["worker=script", "worker.script=null"], "worker.script: script needs a script to run\n  name it on"),
        (["worker=script", "worker.script=nope.sh"], "nope.sh: cannot be read: No such file or directory"),
        (["worker=script", "worker.script=."], "not a *.sh file"),
        (["worker=script", "worker.script=train.py"], "train.py: not a *.sh file"),
        (["worker=script", "worker.script=3"], "worker.script (command line): expected `str | null`"),
        (["worker=script", "worker.script=bad.sh"], "bad.sh:2: @total_timesteps: expected a whole number, got 'soon'"),
        ([*SCRIPT, "algo=ppo"], "script has no algorithm 'ppo'"),
        ([*SCRIPT, "+algo.native.x=1"], "no such parameter"),
        ([*SCRIPT, "env=cartpole", "+env.kwargs.x=1"], "env.kwargs: a script makes its environment itself"),
        (["worker=cleanrl", "+worker.script=./train.sh"], "cleanrl runs no scripts\n  choose worker=script"),
        (["worker=random", "algo=random", "+worker.script=./train.sh"], "random runs no scripts"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_is_refused(machine: Machine, script: Write, overrides: list[str], said: str) -> None:
    script("")
    (machine.folder / "bad.sh").write_text("#!/bin/bash\n# @total_timesteps: soon\n")
    machine.run(*overrides, "--dry-run", expect=2)
    assert said in machine.stderr
    assert "Traceback" not in machine.stderr
    assert not machine.outputs.exists()


@pytest.mark.parametrize(
    ("file", "text", "overrides"),
    [
        ("worker/evil.yaml", "{{name: script, python: null, script: {evil}}}", ["worker=evil", "algo=script"]),
        ("eval/evil.yaml", "# @package _global_\nworker: {{script: {evil}}}", ["worker=script", "eval=evil"]),
        ("evil.yaml", "defaults: [config]\nworker: {{script: {evil}}}", ["--config-name", "evil", "worker=script"]),
        (
            "evil.yaml",
            "defaults: [config]\nworker: {{script: {evil}}}\n"
            "hydra: {{overrides: {{task: ['worker.script={evil}']}}, sweeper: {{params: {{worker.script: {evil}}}}}}}",
            ["--config-name", "evil", "-m", "worker=script"],
        ),
    ],
    ids=["a worker's preset", "another group's preset", "a config of its own", "Hydra's own node"],
)
def test_a_config_names_no_script(machine: Machine, file: str, text: str, overrides: list[str]) -> None:
    evil = machine.folder / "evil.sh"
    evil.write_text(f"touch {machine.folder}/harm")
    preset = machine.folder / "conf" / file
    preset.parent.mkdir(parents=True)
    preset.write_text(text.format(evil=evil))
    machine.run("--config-dir", str(machine.folder / "conf"), *overrides, expect=2)
    assert "worker.script: a config may not name a script to execute" in machine.stderr
    assert "name it on the command line" in machine.stderr
    assert not (machine.folder / "harm").exists()
    assert machine.run_ids() == []


def test_the_command_line_beats_a_config_that_names_a_script(machine: Machine, script: Write) -> None:
    script("echo mine")
    preset = machine.folder / "conf" / "worker" / "theirs.yaml"
    preset.parent.mkdir(parents=True)
    preset.write_text("{name: script, python: null, script: /no/such/evil.sh}")
    machine.run("--config-dir", "conf", "worker=theirs", "algo=script", "worker.script=./train.sh")
    assert log(machine) == b"mine\n"
