"""``mode=interactive``: commands and replies as JSON lines."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from machine import Machine

CARTPOLE = {"shape": [4], "dtype": "float32"}


class Conversation:
    """A started ``mosaic-pipe mode=interactive``."""

    def __init__(self, machine: Machine, *overrides: str) -> None:
        self.process = subprocess.Popen(
            machine.command("worker=cleanrl", "mode=interactive", *overrides),
            cwd=machine.folder,
            env=machine.variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.init = self.read()

    def close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
        self.process.kill()
        self.process.wait()

    def write(self, text: str | bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text.encode() if isinstance(text, str) else text)
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    def ask(self, **command: Any) -> dict[str, Any]:
        self.write(json.dumps(command) + "\n")
        return self.read()


@pytest.fixture
def trained(machine: Machine) -> Iterator[Conversation]:
    machine.run("worker=cleanrl", "total_timesteps=512", "tracking=none")
    talk = Conversation(machine, "resume.run=last")
    yield talk
    talk.close()


def test_a_whole_episode(trained: Conversation, machine: Machine) -> None:
    assert trained.init["type"] == "init"
    assert trained.init["policy"] is True
    assert (trained.init["env_id"], trained.init["observation_space"]) == ("CartPole-v1", CARTPOLE)
    ready = trained.ask(cmd="reset", seed=3, render=True)
    assert ready["type"] == "ready"
    assert ready["frame"]["shape"] == [400, 600, 3]
    observation, total = ready["observation"], 0.0
    while True:
        chosen = trained.ask(cmd="select_action", observation=observation)["action"]
        assert chosen == trained.ask(cmd="select_action")["action"]
        step = trained.ask(cmd="step", action=chosen)
        observation, total = step["observation"], total + step["reward"]
        if step["terminated"] or step["truncated"]:
            break
    assert trained.read() == {"type": "episode_done", "episode_return": total, "episode_length": int(total)}
    assert trained.ask(cmd="step")["message"] == "reset comes first"
    assert trained.ask(cmd="reset", seed=3)["observation"] == ready["observation"]
    assert trained.ask(cmd="stop") == {"type": "stopped"}
    assert trained.process.wait(20) == 0
    assert len(machine.run_ids()) == 1  # a conversation is no run


def test_lines_come_as_they_come(trained: Conversation) -> None:
    trained.write('{"cmd": "ping"}\n\n{"cmd": "ping"}\n{"cmd": ')
    assert [trained.read(), trained.read()] == [{"type": "pong"}] * 2
    trained.write('"reset"}')
    trained.write("\n")
    assert trained.read()["type"] == "ready"
    for garbage, said in [
        (b"nonsense\n", "not JSON"),
        (b"\xff\xfe\n", "not JSON"),
        (b"[1]\n", "a command is an object"),
        (b'{"cmd": "fly"}\n', "there are: reset, step, select_action, ping, stop"),
        (b'{"cmd": "step", "action": 7}\n', "action 7 is not in Discrete(2)"),
        (b'{"cmd": "step", "action": "left"}\n', "action 'left' is not in Discrete(2)"),
        (b'{"cmd": "select_action", "observation": [1, 2]}\n', "its shape is (2,), and should be (4,)"),
        (b'{"cmd": "reset", "seed": -1}\n', "seed: -1"),
        (b"[" * 100_000 + b"\n", "not JSON"),
        (b"x" * (3 << 20) + b"\n", "a line of more than 1048576 bytes"),
    ]:
        trained.write(garbage)
        reply = trained.read()
        assert reply["type"] == "error"
        assert said in reply["message"]
    assert trained.ask(cmd="step", action=1)["type"] == "step"
    assert trained.process.stdin is not None
    trained.process.stdin.write(b'{"cmd": "ping"}')
    trained.process.stdin.close()  # the end of the input ends the last line, and the conversation
    assert trained.read() == {"type": "pong"}
    assert trained.process.wait(20) == 0


def test_without_a_checkpoint_there_is_an_environment_and_no_policy(machine: Machine) -> None:
    talk = Conversation(machine, "env=pendulum", "algo=sac_continuous_action")
    assert talk.init["policy"] is False
    talk.ask(cmd="reset")
    assert "there is no policy" in talk.ask(cmd="select_action")["message"]
    assert talk.ask(cmd="step", action=[0.5])["action"] == [0.5]
    assert "is not in Box" in talk.ask(cmd="step", action=[99])["message"]
    talk.ask(cmd="stop")
    assert talk.process.wait(20) == 0
    talk.close()
    assert not machine.run_ids()


def test_dry_runs_of_every_mode(machine: Machine) -> None:
    machine.run("worker=cleanrl", "total_timesteps=512", "tracking=none")
    for mode in ("resume_training", "policy_eval", "interactive"):
        answer = json.loads(machine.run(f"mode={mode}", "resume.run=last", "total_timesteps=1024", "--dry-run"))
        assert answer["spec"]["mode"] == mode
        assert answer["worker"]["checkpoint"]["env_steps"] == 512
    assert len(machine.run_ids()) == 1
