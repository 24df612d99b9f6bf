"""What a worker can do, as its package's ``capabilities.json`` says; read without importing the worker."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from mosaic_pipe.base.errors import UserError
from mosaic_pipe.spec.schema import ActionSpace, Mode, Name, ObservationSpace

FILE_NAME = "capabilities.json"


class Algorithm(Struct, frozen=True, forbid_unknown_fields=True):
    """One algorithm of a worker."""

    action_spaces: tuple[ActionSpace, ...]
    observation_spaces: tuple[ObservationSpace, ...]
    hyperparameters: dict[str, str] = {}
    """Canonical hyperparameters that it takes, and what the library calls each."""


class Capabilities(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The static description of a worker; memory in MiB."""

    schema_version: Annotated[int, Meta(ge=1, le=1)]
    worker_type: Name
    package: str
    description: str
    upstream_library: str
    upstream_version: str
    license: str
    supported_paradigms: tuple[str, ...]
    env_families: tuple[str, ...]
    """Families of environments; ``*``: any."""
    action_spaces: tuple[ActionSpace, ...]
    observation_spaces: tuple[ObservationSpace, ...]
    max_agents: Annotated[int, Meta(ge=1)]
    modes: tuple[Mode, ...]
    supports_curriculum: bool = False
    takes_script: bool = False
    """It runs a script of the user, named by ``worker.script``."""
    supports_checkpointing: bool
    requires_gpu: bool
    estimated_memory_mb: int
    algorithms: dict[str, Algorithm]


class Description(Struct, frozen=True):
    """What ``python -m <worker>.cli --describe`` prints from inside the worker's environment."""

    python: str
    """Version of the interpreter."""
    capabilities: Capabilities
    native_parameters: dict[str, dict[str, dict[str, Any]]]
    """By algorithm and name: ``type``, ``default``, ``help``, and ``set_by`` where a key of the spec sets it."""


def read_capabilities(path: Path) -> Capabilities:
    """The capabilities in the file at ``path``.

    Raises:
        UserError: not there, or not as the schema says.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=Capabilities)
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=str(path)) from error
    except msgspec.DecodeError as error:
        raise UserError(f"not a description of a worker: {error}", where=str(path)) from error
