"""Training is what XuanCe does by hand, what it was before it was stopped, and what happened in its environments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from machine import Machine
from xuance_machine import COMPARE, INSIDE, inside, spec_file

OFF_POLICY = ["algo.learning_starts=400", "algo.buffer_size=480", "total_timesteps=1200"]
ON_POLICY = ["algo.rollout_steps=25", "algo.update_epochs=2", "total_timesteps=800"]
RECURRENT = ["+algo.native.use_rnn=true"]
SMALL = ['+env.kwargs.layout="gxg\nxgx"', "+env.kwargs.max_steps=20"]  # shelves and goals side by side
RUNS = {
    "ppo": ["total_timesteps=1024"],
    "dqn": ["algo=dqn", *OFF_POLICY],
    "perdqn": ["algo=perdqn", *OFF_POLICY, "checkpoint.interval=300"],
    "qmix": ["algo=qmix", "env=mpe_simple_spread", *OFF_POLICY, "total_timesteps=1600", "checkpoint.interval=400"],
    "maddpg": ["algo=maddpg", "env=mpe_simple_tag_continuous", *OFF_POLICY, "+algo.native.use_parameter_sharing=false"],
    "masac": ["algo=masac", "env=mpe_simple_push_continuous", *OFF_POLICY],
    "ippo": ["algo=ippo", "env=mpe_simple_adversary", *ON_POLICY],
    "mappo": ["algo=mappo", "env=mpe_simple_spread", *RECURRENT, *ON_POLICY],
    "coma": ["algo=coma", "env=lbf_8x8_2p_3f", *ON_POLICY],
    "iql": ["algo=iql", "env=rware_tiny_2ag", *SMALL, *RECURRENT, *OFF_POLICY, "algo.train_interval=320"],
}
ASKED = {
    "ppo": ["by_hand", "resumed"],
    "dqn": ["resumed"],
    "perdqn": ["by_hand", "resumed"],
    "qmix": ["by_hand", "resumed"],
    "maddpg": ["by_hand"],
    "masac": ["resumed"],
    "ippo": [],
    "mappo": ["resumed"],
    "coma": [],
    "iql": ["resumed"],
}
"""What is asked of each; of several agents also their returns.

All of qmix's episodes end at 400, 800, … steps, and there it saves checkpoints and is stopped.
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("xuance")


@pytest.fixture(scope="module")
def found(stranger: Path, place: Path) -> Any:
    """What the runs came to, by name."""
    for name, overrides in RUNS.items():
        spec_file(place, name, "seed=4", *overrides)
    return inside(Machine(stranger / "venv", stranger / "home", place), INSIDE, json.dumps(ASKED), str(place))


@pytest.mark.parametrize("name", [name for name, asked in ASKED.items() if "by_hand" in asked])
def test_the_same_as_by_hand(found: Any, name: str) -> None:
    """The same networks, to the last bit."""
    tensors, different = found[name]["by_hand"]
    assert tensors > 8
    assert different == []


def episodes(folder: Path) -> list[dict[str, Any]]:
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    assert not [event for event in events if event["event"] == "warning"]
    payloads = [event["payload"] for event in events if event["event"] == "episode"]
    return [{key: value for key, value in payload.items() if key != "wall_time"} for payload in payloads]


def test_resumed_equals_uninterrupted(found: Any, place: Path, machine: Machine) -> None:
    """The same numbers, to the last bit."""
    pairs = []
    for name in [name for name, asked in ASKED.items() if "resumed" in asked]:
        whole, stopped, resumed = found[name]["resumed"]
        assert stopped != whole
        assert episodes(place / name / "stopped") + episodes(place / name / "resumed") == episodes(
            place / name / "whole"
        )
        pairs += [whole, resumed]
    assert inside(machine, COMPARE, "walk", *pairs) == []


@pytest.mark.parametrize("name", [name for name in RUNS if name not in ("ppo", "dqn", "perdqn")])
def test_returns_are_those_of_the_environment(found: Any, place: Path, name: str) -> None:
    """Each agent's, exactly; the team's is their sum."""
    reported = episodes(place / name / "whole")
    assert len(reported) >= 16
    assert [[episode["agent_returns"], episode["episode_length"]] for episode in reported] == found[name]["replayed"]
    for episode in reported:
        assert episode["episode_return"] == pytest.approx(sum(episode["agent_returns"].values()))


def test_agents_have_returns_of_their_own(found: Any, place: Path) -> None:
    for episode in episodes(place / "ippo" / "whole"):
        each = episode["agent_returns"]
        assert each["agent_0"] == each["agent_1"] != each["adversary_0"]  # the good ones share their reward
    assert any(sum(each.values()) > 0 for each, _ in found["iql"]["replayed"])  # some shelves were brought
    assert any(each["agent_0"] != each["agent_1"] for each, _ in found["coma"]["replayed"])


def test_actions_stay_what_they_were(found: Any) -> None:
    """The environments overwrite arrays that they are given; XuanCe stores its actions after the step."""
    assert found["actions"] == [3, 3, 3]


def test_an_id_that_is_almost_right(found: Any) -> None:
    none = "env.id: there is no particle environment"
    assert found["unknown"]["simple_spread"] == f"{none} 'simple_spread'; did you mean 'simple_spread_v3'?"
    assert found["unknown"]["mpe2/simple_tag_v3"].endswith("did you mean 'simple_tag_v3'?")
    assert found["unknown"]["simple_push_v2"].endswith("did you mean 'simple_push_v3'?")
    assert "there are collect_treasure_v1, simple_adversary_v3, " in found["unknown"]["soccer"]


def test_files_that_are_no_checkpoints_are_refused_and_not_executed(found: Any, place: Path) -> None:
    code = "a pickle with code in it; refused, and nothing of it was executed"
    said = {"zipped": code, "plain": code, "foreign": "no checkpoint of this worker"}
    said["other"] = "a checkpoint of none, and this run is ppo"
    assert found["refused"].keys() == said.keys()
    for name, message in said.items():
        assert f"{name}.pt: {message}" in found["refused"][name]
    assert not list(place.rglob("executed"))
    assert not Path("executed").exists()
