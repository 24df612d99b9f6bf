from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mosaic_pipe.spec.identity import canonical_json, new_run_id, spec_hash
from mosaic_pipe.spec.schema import RunSpec

BASE: dict[str, Any] = {
    "run_id": "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "worker": {"name": "cleanrl"},
    "algo": {"name": "ppo", "learning_rate": 2.5e-4, "native": {"x": 1}},
    "env": {
        "id": "CartPole-v1",
        "family": "classic_control",
        "action_space": "discrete",
        "observation_space": "vector",
        "kwargs": {"gravity": 9.8, "names": ["é", "π"]},
    },
    "seed": 1,
    "total_timesteps": 1000,
}
GOLDEN = "v2-521f5ea33c508a8db64b3a9f9b61087cc6f8e0ff28b92a1736aa7c5fcfbde02b"


def hash_of(**changes: Any) -> str:
    return spec_hash(msgspec.convert({**BASE, **changes}, RunSpec))


def with_native(value: Any) -> str:
    return hash_of(algo={**BASE["algo"], "native": {"x": value}})


def test_golden_hash() -> None:
    """If this fails, experiments lose their identity: raise HASH_VERSION, and say so in the commit."""
    assert hash_of() == GOLDEN


@pytest.mark.parametrize(
    "changes",
    [
        {"run_id": "01BX5ZZKBKACTAV9WEVGEMMVRZ"},
        {"worker": {"name": "cleanrl", "python": "/usr/bin/python3"}},
        {"worker": {"name": "cleanrl", "script": None}},
        {"worker": {"name": "cleanrl", "path": "/home/me/cleanrl", "repository": "https://example.org/cleanrl"}},
        {"checkpoint": {"interval": 10, "keep": 1}},
        {"resume": {"run": "01BX5ZZKBKACTAV9WEVGEMMVRZ", "checkpoint": "/home/me/step-1.pt"}},
        {"eval": {"episodes": 1}},
        {"collect": {"steps": 1}},
        {"tracking": {"tensorboard": False}},
        {"resources": {"cpus": 8, "time_limit": 60}},
        {"sweep": "night"},
        {"labels": {"note": "try"}},
        {"algo": {"native": {"x": 1.0}, "learning_rate": 0.00025, "name": "ppo"}},
    ],
)
def test_what_cannot_change_a_result_is_not_in_the_hash(changes: dict[str, Any]) -> None:
    assert hash_of(**changes) == GOLDEN


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 2},
        {"total_timesteps": 1001},
        {"worker": {"name": "tianshou"}},
        {"worker": {"name": "cleanrl", "script": "/home/me/train.sh"}},
        {"algo": {"name": "ppo", "native": {"x": 1}}},
        {"env": {**BASE["env"], "kwargs": {"gravity": 9.8, "names": ["π", "é"]}}},
        {"worker": {"name": "cleanrl", "source": "git", "commit": "fe8d8a0"}},
        {"resume": {"sha256": "00"}},
        {"mode": "policy_eval"},
        {"curriculum": {"stages": [{"env_id": "CartPole-v1"}]}},
    ],
)
def test_what_can_change_a_result_is_in_the_hash(changes: dict[str, Any]) -> None:
    assert hash_of(**changes) != GOLDEN


def test_what_an_evaluation_plays_is_in_its_hash() -> None:
    assert hash_of(mode="policy_eval", eval={"episodes": 1}) != hash_of(mode="policy_eval", eval={"episodes": 2})


def test_what_is_recorded_is_in_the_hash() -> None:
    assert hash_of(mode="collect", collect={"steps": 1}) != hash_of(mode="collect", collect={"steps": 2})


def test_an_algorithm_that_takes_no_steps_has_another_budget() -> None:
    offline = {"algo": {"name": "cql", "updates": 10}}
    assert hash_of(**offline) == hash_of(**offline, total_timesteps=5)
    assert hash_of(**offline) != hash_of(algo={"name": "cql", "updates": 11})
    assert hash_of(**offline) != hash_of(**offline, eval={"episodes": 1})


def test_numbers_are_their_value() -> None:
    assert with_native(1) == with_native(1.0)
    assert with_native(0) == with_native(-0.0) == with_native(0.0)
    assert len({with_native(value) for value in (1, True, "1", 1.5, None, 10**30, 1e30)}) == 7


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [1.0, -0.0, 0.1, 1e22]}, '{"a":[1,0,0.1,1e+22],"b":1}'),
        ({"ü": "é", "z": "é"}, '{"z":"é","ü":"é"}'),  # composed and combining forms are different texts
        ({"a": {"c": None, "b": True}}, '{"a":{"b":true,"c":null}}'),
        ("\u2028\n\x00", '"\u2028\\n\\u0000"'),
    ],
)
def test_canonical_json(value: Any, text: str) -> None:
    assert canonical_json(value) == text


def test_not_a_number_has_no_canonical_form() -> None:
    with pytest.raises(ValueError, match="JSON"):
        canonical_json({"a": float("nan")})


def test_run_ids_sort_by_time_and_are_fresh() -> None:
    ids = [new_run_id() for _ in range(1000)]
    assert len(set(ids)) == 1000
    assert [run_id[:10] for run_id in ids] == sorted(run_id[:10] for run_id in ids)
