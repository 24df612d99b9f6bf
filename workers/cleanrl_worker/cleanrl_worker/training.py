"""Training: a script from its beginning, or from where a checkpoint was taken."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mosaic_worker.errors import UserError
from mosaic_worker.rl import randomness
from mosaic_worker.session import Session

from cleanrl_worker import checkpoints, journal, state
from cleanrl_worker.config import CleanRLConfig
from cleanrl_worker.execution import Execution
from cleanrl_worker.main_loop import Position

_OBSERVED = ("next_obs", "next_done")
"""What a script saw last: not restored where its environments begin anew."""


class Training:
    """One script, left and taken up at the heads of its training loop's iterations."""

    def __init__(self, config: CleanRLConfig, session: Session) -> None:
        self._spec, self._session = config.spec, session
        self._loaded = checkpoints.load_for(self._spec)
        self._execution = Execution(config, session)
        self._made = self._execution.made
        self._settings: dict[str, Any] | None = None
        self._training = False
        self._counts_itself = False

    def run(self) -> None:
        """Train until the budget is used up."""
        position: Position = tuple(self._loaded["position"]) if isinstance(self._loaded, dict) else ()
        if len(position) > len(self._execution.loop_lines):
            raise UserError(f"{self._path}: {self._spec.algo.name} has another training loop in this source")
        self._execution.run(self._reached, self._ended, position)

    def save_checkpoint(self, directory: Path) -> Path | None:
        """Save all that training needs to go on; None where the script was stopped before its training began."""
        if not self._training or self._settings is None:
            return None
        names, megabytes = self._execution.names, self._spec.checkpoint.replay_buffer_mb
        values, left_out = state.capture(names, self._settings, megabytes * 2**20)
        for name in left_out:
            self._session.warning(
                f"the replay buffer {name} is over checkpoint.replay_buffer_mb={megabytes}: "
                "it is not in the checkpoint, and a resumed run fills it anew"
            )
        captured = {
            "position": list(self._execution.loop.position),
            "elapsed": time.time() - names.get("start_time", time.time()),
            "random": randomness.capture(),
            "vectors": [journal.capture_vector(envs) for envs in self._made.vectors],
            "curriculum": self._made.curriculum.capture() if self._made.curriculum else None,
            **checkpoints.parts_of(values),
        }
        return checkpoints.CHECKPOINTS.save(directory, self._spec, self._session, captured)

    def close(self) -> None:
        """Let go of what the script opened."""
        self._execution.close()

    @property
    def _path(self) -> Path:
        return Path(self._spec.resume.checkpoint)

    def _reached(self) -> None:
        """The script is at the head of an iteration: all its state is in its names."""
        if not self._training:
            self._set_out()
        if self._training:
            self._count_compiled_steps()
            self._session.safe_point(self.save_checkpoint)
            self._session.wants_safe_point = self._counts_itself

    def _ended(self) -> None:
        if not self._training:
            self._set_out()
        self._count_compiled_steps()
        self._session.training_ended()
        self._session.checkpoints.save(self.save_checkpoint)
        self._made.counter.end_training()

    def _set_out(self) -> None:
        """The first heads: take note of the script's settings, and go to where the checkpoint was taken."""
        if self._settings is None:
            self._settings = state.scalars(self._execution.names)
            self._counts_itself = not self._made.vectors
            self._made.counter.begin_training()
        here = len(self._execution.loop.position)
        if not isinstance(self._loaded, dict) or here == len(self._loaded["position"]):
            self._begin()
            self._training = True

    def _count_compiled_steps(self) -> None:
        """Steps within compiled code, which nobody sees but the script's own counter."""
        uncounted = int(self._execution.names.get("global_step", 0)) - self._session.env_steps
        if uncounted > 0 and self._counts_itself:
            self._session.tick(uncounted)

    def _begin(self) -> None:
        if isinstance(self._loaded, checkpoints.UpstreamModel):
            checkpoints.restore_weights(self._execution.names, self._loaded, self._path)
            self._session.checkpoint_loaded(self._path, 0)
            self._session.warning(f"{self._path}: networks alone; optimisers and steps begin anew")
        elif self._loaded is not None:
            self._restore(self._loaded)
        self._loaded = None
        if self._made.curriculum:
            self._made.curriculum.begin()

    def _restore(self, loaded: dict[str, Any]) -> None:
        names = self._execution.names
        values = checkpoints.script_state(loaded)
        if loaded["env_id"] != self._spec.env.id or not self._made.vectors:
            values = {name: said for name, said in values.items() if name not in _OBSERVED}
        checkpoints.restore(names, values, self._path)
        if "start_time" in names:
            names["start_time"] = time.time() - loaded["elapsed"]
        self._session.continue_from(loaded["env_steps"])
        if self._made.curriculum and loaded["curriculum"]:
            self._made.curriculum.restore(loaded["curriculum"])
        self._restore_environments(loaded)
        randomness.restore(loaded["random"])
        self._session.checkpoint_loaded(self._path, loaded["env_steps"])

    def _restore_environments(self, loaded: dict[str, Any]) -> None:
        vectors = self._made.vectors
        if loaded["env_id"] != self._spec.env.id:
            self._session.warning(f"the checkpoint is of {loaded['env_id']}: the environments begin new episodes")
            return
        if not vectors:
            self._session.warning("environments of this kind cannot be brought to where they were: new episodes")
        for envs, saved in zip(vectors, loaded["vectors"], strict=True):
            if restarted := journal.restore_vector(envs, saved):
                self._session.warning(f"{len(restarted)} environments did not come to where they were: new episodes")
                _observe(self._execution.names, envs, restarted)


def _observe(names: dict[str, Any], envs: Any, firsts: dict[int, Any]) -> None:
    """Let the script see the first observations of new episodes, under whichever name it keeps its last ones."""
    shape = (envs.num_envs, *envs.single_observation_space.shape)
    for name in ("next_obs", "obs"):
        batch = names.get(name)
        if isinstance(batch, torch.Tensor | np.ndarray) and tuple(batch.shape) == shape:
            for index, first in firsts.items():
                batch[index] = torch.as_tensor(first) if isinstance(batch, torch.Tensor) else first
