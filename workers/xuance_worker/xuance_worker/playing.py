"""Evaluation, recording and interaction: the networks of a checkpoint play."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from mosaic_worker.errors import UserError
from mosaic_worker.rl import randomness
from mosaic_worker.rl.evaluation import Policy
from mosaic_worker.rl.interaction import Interaction
from mosaic_worker.rl.monitor import Monitor
from mosaic_worker.rl.playing import play
from mosaic_worker.session import Session

from xuance_worker import agents, environments, state
from xuance_worker.checkpoints import CHECKPOINTS
from xuance_worker.config import XuanCeConfig
from xuance_worker.memory import Remembering


class Playing:
    """One agent, and environments by themselves."""

    def __init__(self, config: XuanCeConfig, session: Session) -> None:
        self._config, self._spec, self._session = config, config.spec, session
        self._loaded = CHECKPOINTS.load_for(self._spec)

    def run(self) -> None:
        """Play what the mode asks for."""
        play(self._spec, self._session, self._env, self._policy)

    def interact(self, serve: Callable[[Interaction], None]) -> None:
        """Serve one environment and, where there is a checkpoint, its agent."""
        env = self._env()
        serve(Interaction(env, self._policy(env) if self._loaded is not None else None, self._spec))

    def save_checkpoint(self, directory: Path) -> None:
        """Nothing was trained."""

    def close(self) -> None:
        """Nothing is left open."""

    def _env(self) -> Any:
        env = Monitor(environments.make(self._spec))
        return Remembering(env) if self._config.remembers else env

    def _policy(self, env: Any) -> Policy:
        path = Path(self._spec.resume.checkpoint)
        random = randomness.capture()  # an agent seeds the generators when it is made
        agent = agents.build(self._config, environments.vector_of([self._env()]), self._session)
        randomness.restore(random)
        assert self._loaded is not None
        try:
            state.restore_policy(agent, self._loaded["agent"])
        except RuntimeError as error:
            raise UserError(f"{path}: does not fit this run: {error}") from error
        self._session.checkpoint_loaded(path, self._loaded["env_steps"])
        return agents.player(agent, self._config, env)
