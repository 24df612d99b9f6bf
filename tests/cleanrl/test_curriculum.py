"""Curricula: stages that follow each other while a script trains and knows nothing of them."""

from __future__ import annotations

import itertools

import pytest
from machine import Machine

GOTO = ["BabyAI-GoToRedBallNoDists-v0", "BabyAI-GoToRedBall-v0", "BabyAI-GoToObj-v0"]


def until(*conditions: str) -> list[str]:
    return [f"curriculum.stages.{number}.until={condition}" for number, condition in enumerate(conditions)]


def test_three_stages(machine: Machine) -> None:
    stages = until("steps>=2000", "steps>=2000")
    machine.run("worker=cleanrl", "curriculum=babyai_goto", "total_timesteps=5500", "algo.update_epochs=1", *stages)
    entered = machine.manifest()["stages"]
    assert [stage["env_id"] for stage in entered] == GOTO
    assert [stage["index"] for stage in entered] == [0, 1, 2]
    assert entered[0]["env_steps"] == 0
    assert entered[0]["reason"] is None
    for before, stage in itertools.pairwise(entered):
        assert stage["reason"].startswith("steps>=2000 (steps 2")
        # environments change one by one, at the ends of their episodes, and finished episodes count
        assert abs(stage["env_steps"] - before["env_steps"] - 2000) < 600
    shown = machine.run("runs", "show", "last")
    assert "2 BabyAI-GoToObj-v0 from step" in shown
    assert "after steps>=2000 (steps 2" in shown
    manifest = machine.manifest()
    assert manifest["state"] == "COMPLETED"
    assert manifest["spec"]["env"]["id"] == GOTO[0]


def test_rooms_that_grow_for_dqn_and_conditions_of_every_kind(machine: Machine) -> None:
    """The image stays 7x7x3 while the room grows from 5x5 to 16x16."""
    stages = until("episode_return>=2|episodes>=3", "episode_return>=-1&episodes>=2", "total_steps>=1500")
    dqn = ["algo=dqn", "total_timesteps=2500", "algo.learning_starts=200"]
    machine.run("worker=cleanrl", "curriculum=babyai_doorkey", *dqn, *stages, "+env.kwargs.max_steps=120")
    entered = machine.manifest()["stages"]
    assert [stage["env_id"][-8:-3] for stage in entered] == ["y-5x5", "y-6x6", "y-8x8", "16x16"]
    reasons = [stage["reason"] for stage in entered[1:]]
    assert reasons[0] == "episodes>=3 (episodes 3)"
    assert reasons[1].startswith("episode_return>=-1&episodes>=2 (episode_return ")
    assert reasons[2].startswith("total_steps>=1500 (total_steps 1")


def test_the_same_seed_the_same_stages(machine: Machine) -> None:
    for _ in range(2):
        machine.run(
            "worker=cleanrl", "curriculum=minigrid_lava", "total_timesteps=3000", *until("steps>=900", "steps>=900")
        )
    first, second = ([event["payload"] for event in machine.events(run, "episode")] for run in machine.run_ids())
    for payload in (*first, *second):
        del payload["wall_time"]
    assert first == second
    stages = [machine.manifest(run_id)["stages"] for run_id in machine.run_ids()]
    assert stages[0] == stages[1]


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["curriculum.stages.0.until=steps>8000x"], "'steps>8000x' is no condition"),
        (["curriculum.stages.0.until=step>=8000"], "did you mean 'steps'?"),
        (["curriculum.stages.0.until=steps>=5|"], "'' is no condition (in 'steps>=5|')"),
        (["+curriculum.stages.3.until=steps>=5"], "the last stage is open"),
        (["curriculum.stages.1.env_id=os:system"], "names a module to import"),
        (["env=cartpole"], "is not the environment of the curriculum's first stage"),
        (["algo=ppo_continuous_action"], "cleanrl's ppo_continuous_action"),
        (["algo=ppo_atari"], "cleanrl's ppo_atari does not do 'babyai'"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_starts(
    machine: Machine, overrides: list[str], said: str
) -> None:
    machine.run("worker=cleanrl", "curriculum=babyai_goto", *overrides, expect=2)
    assert said in machine.stderr
    assert not machine.outputs.exists()


def test_stages_that_no_network_fits_are_refused(machine: Machine) -> None:
    machine.run("worker=cleanrl", "curriculum=babyai_goto", "curriculum.stages.1.env_id=CartPole-v1", expect=1)
    reason = machine.manifest()["failure"]["reason"]
    assert reason.startswith("curriculum.stages.1: CartPole-v1 has the observation_space Box(")
    assert reason.endswith("no network fits both")
    machine.run("worker=cleanrl", "curriculum=babyai_goto", "curriculum.stages.1.env_id=BabyAI-GoTo-v9", expect=1)
    assert "BabyAI-GoTo" in machine.manifest()["failure"]["reason"]
    assert machine.manifest()["failure"]["class"] == "user_error"
