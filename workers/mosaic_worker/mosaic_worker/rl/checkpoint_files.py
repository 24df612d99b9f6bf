"""Checkpoint files: a dict of plain containers and tensors, read with ``torch.load(weights_only=True)``."""

from pathlib import Path
from typing import Any, Dict, Optional

import torch

from mosaic_worker.errors import UserError
from mosaic_worker.files import write_atomically
from mosaic_worker.rl.tensors import NoTensors, load
from mosaic_worker.session import Session
from mosaic_worker.spec import Spec

HEAD = ("format", "algo", "env_id", "env_steps")
"""What every checkpoint says of itself, beside the ``library`` that wrote it."""


class CheckpointFiles:
    """The checkpoints of one library, in one format."""

    def __init__(self, library: str, version: int) -> None:
        self._library, self._version = library, version

    def save(self, directory: Path, spec: Spec, session: Session, state: Dict[str, Any]) -> Path:
        """Write a checkpoint of where ``session`` is into ``directory``, atomically; ``state``: the library's own part.

        The file is ``step-<env_steps>.pt``; ``update-<updates>.pt`` where updates are the run's progress.
        """
        unit = "step" if session.updates is None else "update"
        path = directory / f"{unit}-{session.progress}.pt"
        head = {"format": self._version, "library": self._library, "algo": spec.algo.name, "env_id": spec.env.id}
        content = {**head, **session.counts(), **state}
        write_atomically(path, lambda file: torch.save(content, file))
        return path

    def load(self, path: Path, algo: str) -> Dict[str, Any]:
        """The checkpoint at ``path``; nothing in it is executed.

        Raises:
            UserError: not there, cut short, something else, of another algorithm, or a pickle with code in it.
        """
        try:
            found = load(path)
        except NoTensors as error:
            raise UserError(f"{path}: cut short, or no checkpoint: {error}") from error
        if not isinstance(found, dict) or found.get("library") != self._library:
            raise UserError(f"{path}: no checkpoint of this worker")
        if found["format"] != self._version:
            raise UserError(f"{path}: a checkpoint of format {found['format']}, this worker reads {self._version}")
        if found["algo"] != algo:
            raise UserError(f"{path}: a checkpoint of {found['algo']}, and this run is {algo}")
        return found

    def load_for(self, spec: Spec) -> Optional[Dict[str, Any]]:
        """The checkpoint that ``spec`` starts from; None: it starts from nothing."""
        return self.load(Path(spec.resume.checkpoint), spec.algo.name) if spec.resume.checkpoint else None

    def describe(self, spec: Spec) -> Dict[str, Any]:
        """What is in the checkpoint that ``spec`` starts from.

        Raises:
            UserError: it is none, or another algorithm's.
        """
        loaded = self.load(Path(spec.resume.checkpoint), spec.algo.name)
        return {"path": spec.resume.checkpoint, **{name: loaded[name] for name in HEAD}}
