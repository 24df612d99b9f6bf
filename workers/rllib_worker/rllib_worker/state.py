"""The state of an algorithm and of its env runners as plain containers and tensors, and back."""

import copy
from collections import deque
from functools import partial
from typing import Any

import numpy as np
import torch
from mosaic_worker.rl import randomness

from rllib_worker.environments import training_env_of

_LEFT_OUT = ("curr_log_alpha", "curr_kl_coeffs_per_module", "last_update_ts_by_mid", "_last_update_ts_by_mid")
"""What learners have for each module and RLlib leaves out of their state: SAC's entropy weight, PPO's of KL, and when
DQN and APPO last updated their target networks."""
_ARRAY = "array"
_TUPLE = "tuple"


def plain(value: Any) -> Any:
    """``value`` as ``torch.load(weights_only=True)`` can read it.

    Raises:
        TypeError: it holds something else than containers, arrays, tensors and numbers.
    """
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list | deque):
        return [plain(item) for item in value]
    if isinstance(value, tuple):
        return {_TUPLE: [plain(item) for item in value]}
    if isinstance(value, np.ndarray):
        return {_ARRAY: torch.from_numpy(value.copy())}
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str | torch.Tensor):
        return value
    raise TypeError(f"a checkpoint cannot hold {type(value).__name__}")


def unplain(value: Any) -> Any:
    """What :func:`plain` was given; a deque is a list."""
    if isinstance(value, list):
        return [unplain(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {_ARRAY}:
        return value[_ARRAY].numpy()
    if value.keys() == {_TUPLE}:
        return tuple(unplain(item) for item in value[_TUPLE])
    return {name: unplain(item) for name, item in value.items()}


def capture_left_out(algorithm: Any) -> dict[str, Any]:
    """What RLlib leaves out of the learners' state; all of them have the same."""
    results = algorithm.learner_group.foreach_learner(_capture_left_out)
    return next(iter(results)).get()


def restore_left_out(algorithm: Any, saved: dict[str, Any]) -> None:
    """Give the learners what :func:`capture_left_out` gave."""
    algorithm.learner_group.foreach_learner(partial(_restore_left_out, saved=saved))


def capture_runners(algorithm: Any) -> list[dict[str, Any]]:
    """What the env runners have in hand, one after the other."""
    return algorithm.env_runner_group.foreach_env_runner(_capture)


def restore_runners(algorithm: Any, runners: list[dict[str, Any]]) -> int:
    """Bring the env runners to where others were; returns how many environments had to begin new episodes.

    Environments are handed on in their order, to as many env runners as there are; generators where it is as many.
    """
    environments = [one for runner in runners for one in zip(runner["environments"], runner["ended"], strict=True)]
    group = algorithm.env_runner_group
    count = group.num_remote_workers() or 1
    share = len(environments) // count
    parts = [
        partial(
            _restore,
            environments=environments[number * share : (number + 1) * share],
            random=runners[number]["random"] if len(runners) == count else None,
        )
        for number in range(count)
    ]
    remote = group.num_remote_workers() > 0
    return sum(group.foreach_env_runner(parts if remote else parts[0], local_env_runner=not remote))


def set_learning_rate(algorithm: Any, rate: float) -> None:
    """Let the optimisers go on with another learning rate than they were saved with."""
    algorithm.learner_group.foreach_learner(partial(_set_learning_rate, rate=rate))


def count_from(algorithm: Any, env_steps: int) -> None:
    """Let the env runners go on counting from ``env_steps``: RLlib leaves them at 0, and epsilon follows from it."""
    algorithm.env_runner_group.foreach_env_runner(partial(_count_from, env_steps=env_steps))


def _count_from(runner: Any, env_steps: int) -> None:
    runner.num_env_steps_sampled_lifetime = env_steps


def _capture(runner: Any) -> dict[str, Any]:
    vector = runner.env.unwrapped
    return {
        "environments": [training_env_of(env).capture() for env in vector.envs],
        "ended": vector._autoreset_envs.tolist(),
        "random": randomness.capture(),
    }


def _restore(runner: Any, environments: list[tuple[dict[str, Any], bool]], random: dict[str, Any] | None) -> int:
    vector = runner.env.unwrapped
    envs = [training_env_of(env) for env in vector.envs]
    for env, (saved, _) in zip(envs, environments, strict=True):
        env.restore(saved)
    runner._reset_envs_and_episodes(runner.config.explore)
    for index, (env, (_, ended)) in enumerate(zip(envs, environments, strict=True)):
        if ended and not env.restarted:  # its next step is the reset
            vector._autoreset_envs[index] = True
            runner._new_episode(index)
    if random:
        randomness.restore(random)
    return sum(env.restarted for env in envs)


def _capture_left_out(learner: Any) -> dict[str, Any]:
    found = {name: getattr(learner, name) for name in _LEFT_OUT if hasattr(learner, name)}
    return {name: {module: copy.deepcopy(value) for module, value in by.items()} for name, by in found.items()}


def _restore_left_out(learner: Any, saved: dict[str, Any]) -> None:
    for name, by_module in saved.items():
        for module, value in by_module.items():
            if isinstance(value, torch.Tensor):  # an optimizer has it
                getattr(learner, name)[module].data.copy_(value)
            else:
                getattr(learner, name)[module] = value


def _set_learning_rate(learner: Any, rate: float) -> None:
    for optimizer in learner._named_optimizers.values():
        for group in optimizer.param_groups:
            group["lr"] = rate
