"""``dataset.run`` and ``dataset.path``: found, checked, and in the spec by content; fit and misfit of algorithms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from machine import REPOSITORY
from mosaic_worker.datasets import ARRAYS, FOLDER
from mosaic_worker.rl.dataset_arrays import write

from mosaic_pipe.base.errors import SpecError, UserError
from mosaic_pipe.launch.dataset import with_dataset
from mosaic_pipe.spec.identity import new_run_id, spec_hash
from mosaic_pipe.spec.schema import RunSpec
from mosaic_pipe.store.runs import Runs
from mosaic_pipe.workers.capabilities import FILE_NAME, read_capabilities
from mosaic_pipe.workers.fit import check_capabilities

TIANSHOU = read_capabilities(REPOSITORY / "workers" / "tianshou_worker" / "tianshou_worker" / FILE_NAME)
ENV = {"id": "Pendulum-v1", "family": "classic_control", "action_space": "continuous", "observation_space": "vector"}


def spec_of(**changes: Any) -> RunSpec:
    plain = {
        "run_id": new_run_id(),
        "worker": {"name": "tianshou"},
        "algo": {"name": "td3_bc", "updates": 10},
        "env": ENV,
        "seed": 1,
        "total_timesteps": 1000,
        **changes,
    }
    return msgspec.convert(plain, RunSpec)


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A run that has recorded five steps, with one below it that has not."""
    runs = Runs(tmp_path)
    folder = runs.new(new_run_id()).path / FOLDER
    folder.parent.mkdir(parents=True)
    runs.new(new_run_id()).path.mkdir()
    arrays = {name: np.zeros(5) for name in ARRAYS}
    write(folder, arrays, {"env": {"id": "Pendulum-v1", "kwargs": {}}, "observation_space": {}, "action_space": {}})
    return folder


def test_a_run_or_a_path_becomes_path_and_content(recorded: Path, tmp_path: Path) -> None:
    run_id = recorded.parent.name
    for asked, run in [({"run": "last"}, run_id), ({"run": run_id}, run_id), ({"path": str(recorded)}, None)]:
        found = with_dataset(spec_of(dataset=asked), (), Runs(tmp_path)).dataset
        assert (found.run, found.path) == (run, str(recorded))
        assert found.sha256 is not None
    again = with_dataset(spec_of(dataset=msgspec.to_builtins(found)), (), Runs(tmp_path))  # as a resumed run does
    assert again.dataset == found


def test_its_content_is_part_of_the_identity_and_its_place_is_not() -> None:
    here = spec_of(dataset={"path": "/here", "sha256": "00"})
    assert spec_hash(here) == spec_hash(spec_of(dataset={"run": "A", "path": "/there", "sha256": "00"}))
    assert spec_hash(here) != spec_hash(spec_of(dataset={"path": "/here", "sha256": "01"}))


def test_a_policy_plays_without_what_it_learned_from(tmp_path: Path) -> None:
    spec = spec_of(mode="policy_eval", dataset={"path": "/gone", "sha256": "00"})
    assert with_dataset(spec, (), Runs(tmp_path)).dataset.path is None


@pytest.mark.parametrize(
    ("changes", "given", "said"),
    [
        ({"dataset": {"run": "last"}, "env": {**ENV, "id": "Acrobot-v1"}}, (), "and env.id is Acrobot-v1"),
        ({"dataset": {"run": "last"}, "env": {**ENV, "kwargs": {"g": 5.0}}}, (), "and env.kwargs is {'g': 5.0}"),
        ({"dataset": {"run": "last", "path": "/x"}}, (), "dataset: name a run or a path, not both"),
        ({"dataset": {"path": "/x"}}, (), "/x/dataset.json: cannot be read"),
        ({"dataset": {"run": "01ARZ"}}, (), "no run '01ARZ'"),
        ({"mode": "policy_eval"}, ("dataset.run",), "dataset: mode=policy_eval learns from nothing"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(
    recorded: Path, tmp_path: Path, changes: dict[str, Any], given: tuple[str, ...], said: str
) -> None:
    with pytest.raises(UserError) as refused:
        with_dataset(spec_of(**changes), given, Runs(tmp_path))
    assert said in str(refused.value)


def test_a_dataset_that_changed_is_not_gone_on_with(recorded: Path, tmp_path: Path) -> None:
    spec = spec_of(mode="resume_training", dataset={"path": str(recorded), "sha256": "00"})
    with pytest.raises(SpecError, match="is not what the run that goes on has learned from"):
        with_dataset(spec, (), Runs(tmp_path))


def test_there_may_be_none_yet(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no run has recorded a dataset yet"):
        with_dataset(spec_of(dataset={"run": "last"}), (), Runs(tmp_path))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "dataset: tianshou's td3_bc learns from recorded steps"),
        ({"algo": {"name": "gail"}}, "dataset: tianshou's gail learns from recorded steps"),
        ({"algo": {"name": "td3"}, "dataset": {"sha256": "00"}}, "tianshou's td3 learns from no recorded steps"),
    ],
)
def test_algorithms_and_datasets_must_fit(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError) as refused:
        check_capabilities(spec_of(**changes), TIANSHOU)
    assert said in str(refused.value)


def test_one_agent_is_recorded() -> None:
    spec = spec_of(mode="collect", algo={"name": "mappo"}, env={**ENV, "family": "mpe", "agents": 3})
    xuance = read_capabilities(REPOSITORY / "workers" / "xuance_worker" / "xuance_worker" / FILE_NAME)
    with pytest.raises(SpecError, match="mode=collect records one agent, and Pendulum-v1 has 3"):
        check_capabilities(spec, xuance)
