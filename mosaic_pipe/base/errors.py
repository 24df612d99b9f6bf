"""Errors that a user can act on, and the exit codes of ``mosaic-pipe``.

A :class:`UserError` says what happened, where, and what to do. The command line prints it as one message, without
a traceback, and exits with its code.
"""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of ``mosaic-pipe``; README lists them."""

    OK = 0
    RUN_FAILED = 1
    BAD_INPUT = 2
    ENVIRONMENT = 3
    DISK_FULL = 4
    CANCELLED = 130


class UserError(Exception):
    """Something that the user can put right; ``where`` names the file, key or run."""

    exit_code = Exit.BAD_INPUT

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what, self.where, self.hint = what, where, hint

    def __str__(self) -> str:
        head = f"{self.where}: {self.what}" if self.where else self.what
        return f"{head}\n  {self.hint}" if self.hint else head


class SpecError(UserError):
    """A config or spec that cannot be run as it stands."""


class WorkerEnvironmentError(UserError):
    """A worker's virtualenv that could not be made or used."""

    exit_code = Exit.ENVIRONMENT
