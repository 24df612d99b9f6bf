from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mosaic_pipe.base.errors import SpecError
from mosaic_pipe.spec.compose import compose_spec, load_spec

CONFIG: dict[str, Any] = {
    "worker": {"name": "cleanrl", "python": None},
    "algo": {"name": "ppo", "learning_rate": 1, "target_kl": None, "native": {}},
    "env": {
        "id": "CartPole-v1",
        "family": "classic_control",
        "action_space": "discrete",
        "observation_space": "vector",
        "kwargs": {},
    },
    "seed": 1,
    "total_timesteps": 1000,
}


def changed(key: str, value: Any) -> dict[str, Any]:
    """CONFIG with the dotted ``key`` set to ``value``."""
    config: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(CONFIG))
    node = config
    *path, last = key.split(".")
    for part in path:
        node = node.setdefault(part, {})
    node[last] = value
    return config


def test_a_spec_survives_its_file() -> None:
    spec = compose_spec(CONFIG)
    assert load_spec(msgspec.json.encode(spec), "spec.json") == spec
    assert spec.algo.hyperparameters() == {"learning_rate": 1.0, "target_kl": None}


def test_each_composition_is_a_run_of_its_own() -> None:
    assert compose_spec(CONFIG).run_id != compose_spec(CONFIG).run_id


@pytest.mark.parametrize("key", ["total_timesteps", "algo.num_envs", "algo.buffer_size"])
def test_whole_floats_are_integers_where_integers_are_wanted(key: str) -> None:
    spec = compose_spec(changed(key, 1e6))
    text = msgspec.json.encode(spec).decode()
    assert f'"{key.split(".")[-1]}":1000000,' in text.replace("}", ",")


def test_floats_of_an_environment_stay_floats() -> None:
    spec = compose_spec(changed("env.kwargs", {"gravity": 10.0}))
    assert isinstance(spec.env.kwargs["gravity"], float)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("seeed", 1, "seeed: unknown key\n  did you mean 'seed'?"),
        ("algo.clip_coeff", 0.1, "algo.clip_coeff: unknown key\n  did you mean 'clip_coef'?"),
        ("seed", "one", "seed: expected `int`, got `str` (given: 'one')"),
        ("seed", -1, "seed: expected `int` >= 0 (given: -1)"),
        ("seed", True, "seed: expected `int`, got `bool`"),
        ("total_timesteps", -5, "total_timesteps: expected `int` >= 1"),
        ("total_timesteps", 0.5, "total_timesteps: expected `int`, got `float`"),
        ("algo.gamma", 1.5, "algo.gamma: expected `float` <= 1.0"),
        ("algo.learning_rate", 0, "algo.learning_rate: expected `float` > 0.0"),
        ("algo.name", "../evil", "algo.name: expected `str` matching regex"),
        ("mode", "trian", "did you mean 'train'?"),
        ("env.action_space", "contiuous", "did you mean 'continuous'?"),
        ("env.id", "???", "env.id: has no value yet\n  set it on the command line: env.id=…"),
        ("labels", {"a": 1}, "labels"),
        ("env", {"id": "x"}, "env.family: has no value"),
        ("curriculum", {"stages": [{"env_id": 3}]}, "curriculum.stages.0.env_id"),
        ("resources", {"heartbeat_timeout": 5}, "must be longer than resources.heartbeat_interval"),
    ],
)
def test_a_wrong_value_is_one_message_with_its_key(key: str, value: Any, said: str) -> None:
    with pytest.raises(SpecError) as refused:
        compose_spec(changed(key, value))
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("key", "value", "where"),
    [
        ("env._target_", "os.system", "env._target_"),
        ("algo.native", {"deep": [{"_target_": "x"}]}, "algo.native.deep.0._target_"),
        ("_partial_", True, "_partial_"),
        ("env.id", "os:CartPole-v1", "env.id"),
        ("algo.native", {"wandb_api_key": "abc"}, "algo.native.wandb_api_key"),
        ("env.kwargs", {"password": "abc"}, "env.kwargs.password"),
        ("algo.native", {"x": float("inf")}, "algo.native.x"),
    ],
)
def test_code_secrets_and_infinities_are_refused(key: str, value: Any, where: str) -> None:
    with pytest.raises(SpecError) as refused:
        compose_spec(changed(key, value))
    assert refused.value.where == where


def test_innocent_names_are_not_taken_for_secrets() -> None:
    compose_spec(changed("algo.native", {"tokenizer": "x", "secret_room": "y", "max_tokens": 3, "token": None}))


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"schema_version": 2}', b'{"unknown": 1}', b"\xff"])
def test_what_is_not_a_spec_is_a_message(data: bytes) -> None:
    with pytest.raises(SpecError, match=r"spec\.json: not a spec"):
        load_spec(data, "spec.json")
