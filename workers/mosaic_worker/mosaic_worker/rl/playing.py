"""A trained policy at play: evaluation, recording, interaction."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Callable, Dict

import gymnasium

from mosaic_worker.rl.checkpoint_files import CheckpointFiles
from mosaic_worker.rl.collecting import collect
from mosaic_worker.rl.evaluation import Policy, evaluate
from mosaic_worker.rl.interaction import Interaction
from mosaic_worker.session import Session
from mosaic_worker.spec import Spec


class Playing(ABC):
    """The runtime of every mode but training; a worker's own makes the environment and the policy."""

    def __init__(self, spec: Spec, session: Session, checkpoints: CheckpointFiles) -> None:
        self._spec, self._session = spec, session
        self._loaded = checkpoints.load_for(spec)

    @abstractmethod
    def make_env(self) -> gymnasium.Env:
        """The environment of the spec, with a :class:`~mosaic_worker.rl.monitor.Monitor` in it."""

    @abstractmethod
    def make_policy(self, env: gymnasium.Env, loaded: Dict[str, Any]) -> Policy:
        """The policy in the checkpoint ``loaded``, for ``env``.

        Raises:
            UserError: it does not fit.
        """

    def run(self) -> None:
        """Play what the mode asks for."""
        play(self._spec, self._session, self.make_env, self._policy)

    def interact(self, serve: Callable[[Interaction], None]) -> None:
        """Serve one environment and, where there is a checkpoint, its policy."""
        env = self.make_env()
        serve(Interaction(env, self._policy(env) if self._loaded is not None else None, self._spec))

    def save_checkpoint(self, directory: Path) -> None:  # noqa: B027 - a default, not a gap
        """Nothing was trained."""

    def close(self) -> None:  # noqa: B027 - a default, not a gap
        """Nothing is left open."""

    def _policy(self, env: gymnasium.Env) -> Policy:
        assert self._loaded is not None
        policy = self.make_policy(env, self._loaded)
        self._session.checkpoint_loaded(Path(self._spec.resume.checkpoint), self._loaded["env_steps"])
        return policy


def play(
    spec: Spec,
    session: Session,
    make_env: Callable[[], gymnasium.Env],
    make_policy: Callable[[gymnasium.Env], Policy],
) -> None:
    """Evaluate the policy, or record what it does, as ``spec.mode`` says; arguments as for both."""
    (collect if spec.mode == "collect" else evaluate)(spec, session, make_env, make_policy)
