"""One environment of a script by itself, to play in."""

import inspect
from collections.abc import Callable
from typing import Any

import gymnasium
from mosaic_worker.errors import UserError
from mosaic_worker.spec import Spec

from cleanrl_worker.monitor import freeze_statistics


def single_env(names: dict[str, Any], spec: Spec, statistics: list[Any]) -> gymnasium.Env:
    """One environment, wrapped as the script wraps it for training; running statistics stay as they are.

    Raises:
        UserError: the script does not make its environments one by one.
    """
    given = {
        "env_id": spec.env.id,
        "seed": spec.seed,
        "idx": 0,
        "capture_video": False,
        "run_name": "eval",
        "gamma": getattr(names["args"], "gamma", 1.0),
    }
    make_env: Callable[..., Any] | None = names.get("make_env")
    wanted = list(inspect.signature(make_env).parameters) if make_env else ["?"]
    if make_env is None or not set(wanted) <= given.keys():
        raise UserError(f"{spec.algo.name} makes all its environments at once: mode={spec.mode} needs single ones")
    env = make_env(**{name: given[name] for name in wanted})()
    freeze_statistics(env, statistics)
    return env
