"""Several agents: returns of each as events, evaluation, interaction."""

from __future__ import annotations

import json
import subprocess

import pytest
from machine import Machine
from xuance_machine import inside

AGENTS = ["adversary_0", "agent_0", "agent_1"]


def test_a_team_trains_and_plays(machine: Machine) -> None:
    overrides = ["algo=iql", "env=mpe_simple_adversary", "algo.learning_starts=400", "algo.buffer_size=1600"]
    machine.run("worker=xuance", *overrides, "total_timesteps=1600", "tracking=none")
    trained = machine.run_ids()[0]
    payloads = [event["payload"] for event in machine.events(kind="episode")]
    assert len(payloads) == 1600 // 25
    for payload in payloads:
        assert sorted(payload["agent_returns"]) == AGENTS
        assert payload["episode_return"] == pytest.approx(sum(payload["agent_returns"].values()))
        assert payload["episode_length"] == 25
        assert payload["agent_returns"]["agent_0"] == payload["agent_returns"]["agent_1"]  # they share their reward
        assert payload["agent_returns"]["agent_0"] != payload["agent_returns"]["adversary_0"]

    machine.run("mode=policy_eval", f"resume.run={trained}", "eval.episodes=3", "eval.batch_size=2")
    played = machine.manifest()["summary"]["eval"]["episodes"]
    assert [sorted(episode["agent_returns"]) for episode in played] == [AGENTS] * 3
    # the same seed and the same policies, asked step by step
    commands = [{"cmd": "reset", "seed": 1}, *[{"cmd": "step"}] * 25, {"cmd": "step", "action": 1}, {"cmd": "stop"}]
    talk = subprocess.run(
        machine.command("mode=interactive", f"resume.run={trained}"),
        input="\n".join(map(json.dumps, commands)),
        cwd=machine.folder,
        env=machine.variables,
        capture_output=True,
        text=True,
        check=True,
    )
    replies = [json.loads(line) for line in talk.stdout.splitlines()]
    assert sorted(replies[1]["observation"]) == AGENTS
    assert sorted(replies[2]["action"]) == sorted(replies[2]["agent_rewards"]) == AGENTS
    assert replies[-3]["episode_return"] == played[0]["episode_return"]
    assert replies[-2]["type"] == "error"


ACT = """
import json
from types import SimpleNamespace as Spec
import numpy as np
from xuance_worker import environments, team
face = team.Team(environments.make(Spec(env=Spec(family="mpe", id="simple_spread_v3", kwargs={}))))
face.reset(seed=1)
actions = {agent: np.array(3) for agent in face.agents}
face.step(actions)
print(json.dumps([int(action) for action in actions.values()]))
"""


def test_actions_stay_what_they_were(machine: Machine) -> None:
    """The environments overwrite arrays that they are given; XuanCe stores its actions after the step."""
    script = machine.folder / "act.py"
    script.write_text(ACT)
    assert inside(machine, script) == [3, 3, 3]
