"""Evaluation, recording and interaction: the networks of a checkpoint play."""

from pathlib import Path
from typing import Any

from mosaic_worker.rl import playing, randomness
from mosaic_worker.rl.evaluation import Policy
from mosaic_worker.rl.monitor import Monitor
from mosaic_worker.rl.resuming import fitting
from mosaic_worker.session import Session

from xuance_worker import agents, environments, state
from xuance_worker.checkpoints import CHECKPOINTS
from xuance_worker.config import XuanCeConfig
from xuance_worker.memory import Remembering


class Playing(playing.Playing):
    """One agent, and environments by themselves."""

    def __init__(self, config: XuanCeConfig, session: Session) -> None:
        super().__init__(config.spec, session, CHECKPOINTS)
        self._config = config

    def make_env(self) -> Any:
        """For one agent or several."""
        env = Monitor(environments.make(self._spec))
        return Remembering(env) if self._config.remembers else env

    def make_policy(self, env: Any, loaded: dict[str, Any]) -> Policy:
        """The agent's networks."""
        random = randomness.capture()  # an agent seeds the generators when it is made
        vector = environments.vector_of([self.make_env()])
        agent = agents.build(self._config, vector, self._session)
        vector.close()
        randomness.restore(random)
        with fitting(Path(self._spec.resume.checkpoint)):
            state.restore_policy(agent, loaded["agent"])
        return agents.player(agent, self._config, env)
