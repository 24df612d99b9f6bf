"""A team as a user runs it, with recurrent networks: trained, evaluated, asked step by step."""

from __future__ import annotations

import json
import subprocess

from machine import Machine

AGENTS = ["agent_0", "agent_1"]


def test_a_team_trains_and_plays(machine: Machine) -> None:
    overrides = ["algo=iql", "env=lbf_8x8_2p_3f", "+algo.native.use_rnn=true", "algo.learning_starts=400"]
    machine.run("worker=xuance", *overrides, "total_timesteps=1600", "tracking=none")
    trained = machine.run_ids()[0]
    manifest = machine.manifest()
    assert manifest["summary"]["env_steps"] >= 1600  # whole episodes
    episodes = [event["payload"] for event in machine.events(kind="episode")]
    assert manifest["summary"]["episodes"] == len(episodes) >= 32
    assert all(sorted(episode["agent_returns"]) == AGENTS for episode in episodes)

    machine.run("mode=policy_eval", f"resume.run={trained}", "eval.episodes=3", "eval.batch_size=2")
    played = machine.manifest()["summary"]["eval"]["episodes"]
    assert [sorted(episode["agent_returns"]) for episode in played] == [AGENTS] * 3
    # the same seed and the same policies, which remember, asked step by step
    steps = [{"cmd": "step"}] * played[0]["length"]
    commands = [{"cmd": "reset", "seed": 1}, *steps, {"cmd": "step"}, {"cmd": "reset"}, {"cmd": "step", "action": 1}]
    talk = subprocess.run(
        machine.command("mode=interactive", f"resume.run={trained}"),
        input="\n".join(map(json.dumps, [*commands, {"cmd": "reset", "render": True}])),
        cwd=machine.folder,
        env=machine.variables,
        capture_output=True,
        text=True,
        check=True,
    )
    _, ready, *stepped, over, done, again, no_part_each, no_picture = map(json.loads, talk.stdout.splitlines())
    assert sorted(ready["observation"]) == AGENTS
    assert sorted(stepped[0]["action"]) == sorted(stepped[0]["agent_rewards"]) == AGENTS
    assert over["type"] == "episode_done"
    assert over["episode_return"] == played[0]["episode_return"]
    assert done["message"] == "reset comes first"
    assert again["type"] == "ready"
    assert "an object with agent_0, agent_1 is needed" in no_part_each["message"]
    assert "no pictures" in no_picture["message"]
