"""Recording what a trained policy does: ``mode=collect``."""

import os
from itertools import count
from typing import Any, Callable, Dict, List, Optional, Tuple

import gymnasium
import numpy as np
import torch

from mosaic_worker.datasets import FOLDER
from mosaic_worker.errors import Stopped, UserError
from mosaic_worker.protocol import Event
from mosaic_worker.rl.dataset_arrays import describe_spaces, write
from mosaic_worker.rl.evaluation import Episode, Player, Policy, summarize
from mosaic_worker.rl.monitor import monitor_of
from mosaic_worker.session import Session
from mosaic_worker.spec import Spec


def collect(
    spec: Spec,
    session: Session,
    make_env: Callable[[], gymnasium.Env],
    make_policy: Callable[[gymnasium.Env], Policy],
) -> None:
    """Play ``spec.collect.steps`` steps and write them as a dataset into the run's directory.

    What is recorded is what the environment itself gave and got, below any wrapper of a library. A run that is stopped
    leaves what it has.

    Args:
        spec: the run's.
        session: told of every step and episode.
        make_env: makes an environment with a :class:`~mosaic_worker.rl.monitor.Monitor` in it.
        make_policy: the trained policy for such an environment.

    Raises:
        UserError: its spaces are not of arrays or of discrete actions, or so many steps do not fit into memory.
    """
    env = make_env()
    monitor = monitor_of(env)
    recorder = monitor.env = Recorder(monitor.env, spec.collect.steps)
    torch.manual_seed(spec.seed)
    np.random.seed(spec.seed)
    policy = make_policy(env)
    player = Player(env, count(spec.seed), spec.eval, session)
    try:
        while not recorder.full:
            player.step(policy(np.stack([np.asarray(player.observation)]))[0])
    except Stopped:
        _write(recorder, player.played, spec, session)
        raise
    finally:
        env.close()
    _write(recorder, player.played, spec, session)


class Recorder(gymnasium.Wrapper):
    """Keeps the first ``steps`` steps of its environment."""

    def __init__(self, env: gymnasium.Env, steps: int) -> None:
        super().__init__(env)
        self.spaces = describe_spaces(env)
        self._taken, self._steps = 0, steps
        self._observation: Any = None
        observation, action = env.observation_space, env.action_space
        _refuse_too_many(steps, 2 * _size(observation) + _size(action) + 10)
        self._rows: Dict[str, np.ndarray] = {
            "observations": np.zeros((steps, *observation.shape), observation.dtype),
            "actions": np.zeros((steps, *action.shape), action.dtype),
            "rewards": np.zeros(steps),
            "terminations": np.zeros(steps, bool),
            "truncations": np.zeros(steps, bool),
            "next_observations": np.zeros((steps, *observation.shape), observation.dtype),
        }

    @property
    def full(self) -> bool:
        """Whether all steps were taken."""
        return self._taken == self._steps

    def reset(self, *, seed: Optional[int] = None, options: Optional[Dict[str, Any]] = None) -> Tuple[Any, Any]:
        """Begin an episode; one that was not over is cut."""
        self._cut()
        observation, info = self.env.reset(seed=seed, options=options)
        self._observation = np.array(observation)
        return observation, info

    def step(self, action: Any) -> Any:
        """Take a step, and keep it."""
        taken = np.array(action)  # an environment may write into what it is given, and into what it gave
        result = self.env.step(action)
        if not self.full:
            observation, reward, terminated, truncated, _ = result
            row = (self._observation, taken, reward, terminated, truncated, observation)
            for kept, value in zip(self._rows.values(), row):
                kept[self._taken] = value
            self._taken += 1
        self._observation = np.array(result[0])
        return result

    def arrays(self) -> Dict[str, np.ndarray]:
        """The steps so far; an episode that is not over is cut."""
        self._cut()
        return {name: rows[: self._taken] for name, rows in self._rows.items()}

    def _cut(self) -> None:
        last = self._taken - 1
        if last >= 0 and not self._rows["terminations"][last]:
            self._rows["truncations"][last] = True


def _size(space: gymnasium.Space) -> int:
    """Bytes of one element."""
    return int(np.prod(space.shape or ())) * np.dtype(space.dtype).itemsize


def _refuse_too_many(steps: int, size: int) -> None:
    """The steps are held in memory, and written at the end."""
    here = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if steps * size > here // 2:
        most = here // 2 // size
        raise UserError(
            f"collect.steps: {steps} steps of this environment take more than half of the memory: {most} fit"
        )


def _write(recorder: Recorder, episodes: List[Episode], spec: Spec, session: Session) -> None:
    arrays = recorder.arrays()
    if not len(arrays["rewards"]):
        return
    source = {
        "run": spec.run_id,
        "policy_run": spec.resume.run,
        "checkpoint_sha256": spec.resume.sha256,
        "worker": spec.worker.name,
        "algo": spec.algo.name,
        "deterministic": spec.eval.deterministic,
        "seed": spec.seed,
    }
    played = summarize(episodes) if episodes else {"episode_count": 0}
    facts = {
        "env": {"id": spec.env.id, "kwargs": spec.env.kwargs},
        **recorder.spaces,
        "source": source,
        "episodes": played,
    }
    folder = session.run_dir / FOLDER
    write(folder, arrays, facts)
    session.artifact("dataset", folder)
    if episodes:
        session.emit(Event.EVAL_COMPLETED, {**played, "deterministic": spec.eval.deterministic})
