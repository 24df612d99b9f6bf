"""One environment and one policy, asked step by step."""

import base64
from typing import Any, Dict, Optional

import gymnasium
import numpy as np

from mosaic_worker.errors import UserError
from mosaic_worker.rl.evaluation import Policy
from mosaic_worker.rl.monitor import monitor_of
from mosaic_worker.spec import Spec


class Interaction:
    """What the kit's interactive mode asks for, in plain data; see ``docs/interactive.md``."""

    def __init__(self, env: gymnasium.Env, policy: Optional[Policy], spec: Spec) -> None:
        self._env, self._policy = env, policy
        self._monitor = monitor_of(env)
        self._observation: Any = None
        self.facts = {
            "env_id": spec.env.id,
            "algo": spec.algo.name,
            "policy": policy is not None,
            "action_space": str(env.action_space),
            "observation_space": _described(env.observation_space),
        }

    def reset(self, seed: Optional[int]) -> Dict[str, Any]:
        """Begin an episode."""
        self._observation, _ = self._env.reset(seed=seed)
        self._monitor.finished = None
        return {"observation": _plain(self._observation)}

    def step(self, action: Any) -> Dict[str, Any]:
        """Take ``action``; None: the policy's."""
        if self._observation is None:
            raise UserError("reset comes first")
        if action is None:
            action = self.select_action(None)
        taken = _taken(action, self._env.action_space)
        self._observation, reward, terminated, truncated, info = self._env.step(taken)
        finished = self._monitor.finished
        answer = {
            "observation": _plain(self._observation),
            "action": _plain(taken),
            "reward": float(reward),
            "terminated": bool(terminated),
            "truncated": bool(truncated),
        }
        if "agent_rewards" in info:
            answer["agent_rewards"] = {name: float(value) for name, value in info["agent_rewards"].items()}
        if finished:
            answer.update(episode_return=finished[0], episode_length=finished[1])
        if terminated or truncated:
            self._observation = None
        return answer

    def select_action(self, observation: Any) -> Any:
        """The policy's action for ``observation``; None: for the current one."""
        if self._policy is None:
            raise UserError("there is no policy: name one with resume.run or resume.checkpoint")
        if observation is None and self._observation is None:
            raise UserError("reset comes first, or give an observation")
        seen = self._observation if observation is None else _observed(observation, self._env.observation_space)
        return _plain(self._policy(np.stack([np.asarray(seen)]))[0])

    def frame(self) -> Dict[str, Any]:
        """What the environment looks like: RGB bytes, base64."""
        pixels = np.asarray(self._env.render(), dtype=np.uint8)
        return {"shape": list(pixels.shape), "rgb": base64.b64encode(pixels.tobytes()).decode("ascii")}

    def close(self) -> None:
        """Let go of the environment."""
        self._env.close()


def _plain(value: Any) -> Any:
    return (
        {name: _plain(part) for name, part in value.items()} if isinstance(value, dict) else np.asarray(value).tolist()
    )


def _described(space: Any) -> Dict[str, Any]:
    """Shape and type; of a dictionary of spaces, those of each."""
    if isinstance(space, gymnasium.spaces.Dict):
        return {name: _described(part) for name, part in space.spaces.items()}
    return {"shape": list(space.shape), "dtype": str(space.dtype)}


def _taken(action: Any, space: Any) -> Any:
    if isinstance(space, gymnasium.spaces.Dict):
        return {name: _taken(part, space[name]) for name, part in _parts(action, space, "action").items()}
    try:
        taken = np.asarray(action, dtype=space.dtype)
    except (ValueError, TypeError, OverflowError) as error:
        raise UserError(f"action {action!r} is not in {space}") from error
    if taken.shape != space.shape or not space.contains(taken):
        raise UserError(f"action {action!r} is not in {space}")
    return taken[()] if not space.shape else taken


def _observed(observation: Any, space: Any) -> Any:
    if isinstance(space, gymnasium.spaces.Dict):
        return {name: _observed(part, space[name]) for name, part in _parts(observation, space, "observation").items()}
    try:
        array = np.asarray(observation, dtype=space.dtype)
    except (ValueError, TypeError, OverflowError) as error:
        raise UserError(f"observation: {error}") from error
    if array.shape != space.shape:
        raise UserError(f"observation: its shape is {array.shape}, and should be {space.shape}")
    return array


def _parts(value: Any, space: gymnasium.spaces.Dict, what: str) -> Dict[str, Any]:
    """``value``, which must have a part for each agent."""
    if not isinstance(value, dict) or value.keys() != space.spaces.keys():
        raise UserError(f"{what}: an object with {', '.join(space.spaces)} is needed, got {value!r}")
    return value
