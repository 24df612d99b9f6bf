"""Training: XuanCe's own loop, from its beginning or from where a checkpoint was taken."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from mosaic_worker.rl import randomness
from mosaic_worker.rl.monitor import monitor_of
from mosaic_worker.rl.resuming import buffer_fits, come_back, fitting, refuse_other_count, refuse_used_up
from mosaic_worker.rl.tracking import Tracker
from mosaic_worker.session import Session

from xuance_worker import agents, environments, state
from xuance_worker.checkpoints import CHECKPOINTS
from xuance_worker.config import XuanCeConfig


class Left(Exception):
    """The agent's ``train`` was left between two of its steps."""


class Training:
    """One agent, left and taken up between two calls of its ``train``."""

    def __init__(self, config: XuanCeConfig, session: Session) -> None:
        self._config, self._spec, self._pace, self._session = config, config.spec, config.pace, session
        self._loaded = CHECKPOINTS.load_for(self._spec)
        self._envs = environments.make_training(self._spec, self._pace.num_envs, session)
        self._vector = environments.vector_of(self._envs)
        self._agent = agents.build(config, self._vector, session)
        self._tracker = Tracker(session, self._spec)
        self._learning_starts = int(config.settings.get("start_training", 0))
        self._on_policy = config.algorithm.on_policy
        self._in_one_call = not self._on_policy and not config.recurrent
        if self._in_one_call:
            self._agent.callback.on_train_step_end = self._leave
        self._collects_episodes = config.recurrent and self._on_policy
        self._ready = False

    def run(self) -> None:
        """Train until the budget is used up."""
        if self._loaded is not None:
            self._restore(self._loaded)
            self._loaded = None
        self._ready = True
        while (left := (self._pace.total - self._session.env_steps) // self._pace.num_envs) > 0:
            if self._session.wants_safe_point:
                self._session.safe_point(self.save_checkpoint)
            if self._in_one_call:
                self._go_on()
            else:
                self._agent.train(min(self._pace.chunk, left))
            while self._collects_episodes and self._agent.memory.size:  # a rollout of several
                self._agent.train(1)
        if not self._on_policy and not self._agent.learner.iterations:
            self._session.warning("nothing was learned: the budget ends before algo.learning_starts")

    def save_checkpoint(self, directory: Path) -> Path | None:
        """Save all that training needs to go on; None where it was stopped before it could begin."""
        if not self._ready:
            return None
        captured = {
            "agent": state.capture_agent(self._agent),
            "memory": self._memory(),
            "environments": [env.capture() for env in self._envs],
            "random": randomness.capture(),
        }
        return CHECKPOINTS.save(directory, self._spec, self._session, captured)

    def close(self) -> None:
        """Let go of environments and files."""
        self._tracker.close()
        self._vector.close()

    def _go_on(self) -> None:
        if self._config.algorithm.team and self._session.env_steps:
            self._vector.take_up([index for index, env in enumerate(self._envs) if monitor_of(env).length == 0])
        with suppress(Left):
            self._agent.train(self._pace.chunk)  # not what is left of it: priorities are annealed over a call's steps

    def _leave(self, *_: Any, **__: Any) -> None:
        """XuanCe's callback, after each step of all environments."""
        if self._session.wants_safe_point or self._session.env_steps >= self._pace.total:
            raise Left

    def _memory(self) -> dict[str, Any] | None:
        """The replay buffer; on-policy there is nothing in it between two rollouts."""
        if self._on_policy:
            return None
        fits = buffer_fits(state.memory_size(self._agent.memory), self._spec, self._session)
        return state.capture_memory(self._agent.memory) if fits else None

    def _restore(self, loaded: dict[str, Any]) -> None:
        path = Path(self._spec.resume.checkpoint)
        refuse_used_up(path, loaded, last=self._pace.total - 1)
        refuse_other_count(path, len(loaded["environments"]), len(self._envs))
        with fitting(path):
            state.restore_agent(self._agent, loaded["agent"])
            if loaded["memory"] is not None:
                state.restore_memory(self._agent.memory, loaded["memory"])
        come_back(self._envs, loaded, self._spec, self._session, self._vector.reset)
        randomness.restore(loaded["random"])
        self._session.continue_from(loaded["env_steps"])
        self._session.checkpoint_loaded(path, loaded["env_steps"])
        if loaded["memory"] is None and not self._on_policy:
            self._agent.start_training = loaded["env_steps"] + self._learning_starts
