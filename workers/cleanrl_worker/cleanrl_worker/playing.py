"""Evaluation, recording and interaction: the script sets everything up, and its policy plays instead of training."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mosaic_worker.rl.evaluation import Policy
from mosaic_worker.rl.interaction import Interaction
from mosaic_worker.rl.playing import play
from mosaic_worker.session import Session

from cleanrl_worker import checkpoints
from cleanrl_worker.config import CleanRLConfig
from cleanrl_worker.execution import Execution
from cleanrl_worker.policies import find_policy
from cleanrl_worker.single_env import single_env


class Playing:
    """One script up to its training loop, with the networks of a checkpoint."""

    def __init__(self, config: CleanRLConfig, session: Session) -> None:
        self._spec, self._session = config.spec, session
        self._loaded = checkpoints.load_for(self._spec)
        self._execution = Execution(config, session)

    def run(self) -> None:
        """Play what the mode asks for."""
        self._instead_of_training(lambda: play(self._spec, self._session, self._env, self._policy))

    def interact(self, serve: Callable[[Interaction], None]) -> None:
        """Serve one environment and, where there is a checkpoint, its policy."""
        self._instead_of_training(lambda: serve(self._interaction()))

    def save_checkpoint(self, directory: Path) -> None:
        """Nothing was trained."""

    def close(self) -> None:
        """Let go of what the script opened."""
        self._execution.close()

    def _instead_of_training(self, play: Callable[[], None]) -> None:
        def reached() -> None:
            self._restore()
            play()
            raise _Played

        with contextlib.suppress(_Played):
            self._execution.run(reached, ended=reached)

    def _restore(self) -> None:
        loaded, names, path = self._loaded, self._execution.names, Path(self._spec.resume.checkpoint or "")
        if isinstance(loaded, checkpoints.UpstreamModel):
            checkpoints.restore_weights(names, loaded, path)
            self._session.checkpoint_loaded(path, 0)
        elif loaded is not None:
            networks = {
                name: said
                for name, said in checkpoints.script_state(loaded).items()
                if isinstance(said, dict) and said.get("kind") in ("module", "flax")
            }
            checkpoints.restore(names, networks, path)
            if self._execution.made.curriculum and loaded["curriculum"]:
                self._execution.made.curriculum.restore(loaded["curriculum"])
            self._session.checkpoint_loaded(path, loaded["env_steps"])

    def _statistics(self) -> list[Any]:
        """Those of the first training environment's normalising wrappers."""
        vectors = self._loaded["vectors"] if isinstance(self._loaded, dict) else []
        return list(vectors[0]["environments"][0]["statistics"]) if vectors else []

    def _env(self) -> Any:
        return single_env(self._execution.names, self._spec, self._statistics())

    def _policy(self, env: Any) -> Policy:
        deterministic = self._spec.eval.deterministic
        return find_policy(self._execution.names, env.action_space, deterministic=deterministic)

    def _interaction(self) -> Interaction:
        env = self._env()
        return Interaction(env, self._policy(env) if self._loaded is not None else None, self._spec)


class _Played(BaseException):
    """The episodes are over: leave the script."""
