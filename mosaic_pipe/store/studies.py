"""A study on disk: a sweep whose points an optimiser chooses.

::

    <output_dir>/sweeps/<name>/study/
        study.json        what is optimised, and over what; written once
        optuna.log        Optuna's trials: a file that is only ever appended to
        pruned/<run_id>   a run that was stopped because others were better at the same step
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from mosaic_pipe.base.errors import UserError
from mosaic_pipe.spec.schema import RunSpec
from mosaic_pipe.store.placing import place_directory
from mosaic_pipe.store.sweeps import Sweep

SCHEMA_VERSION = 1
Direction = Literal["maximize", "minimize"]


class Axis(msgspec.Struct, frozen=True, kw_only=True):
    """One key of a search space: ``choices``, as texts of the command line, or the numbers from ``low`` to ``high``."""

    choices: tuple[str, ...] = ()
    low: int | float = 0
    high: int | float = 0
    step: int | float | None = None
    log: bool = False
    whole: bool = False

    def __str__(self) -> str:
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        kind = "whole numbers" if self.whole else "numbers"
        step = f", step {self.step:g}" if self.step and not (self.whole and self.step == 1) else ""
        return f"{kind} from {self.low:g} to {self.high:g}{step}{', logarithmic' if self.log else ''}"


Space = dict[str, Axis]
"""Axes by key, as the command line names it."""


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    """``study.json``; ``reference``: one point of the space, to tell whether the configs still mean the same."""

    metric: str
    direction: Direction
    space: Space
    reference: RunSpec
    schema_version: int = SCHEMA_VERSION


class StudyDir:
    """Where the study of a sweep is, if it is one."""

    def __init__(self, sweep: Path) -> None:
        """``sweep``: the sweep's directory, which need not exist."""
        self.path = sweep / "study"
        self.log_file = self.path / "optuna.log"

    def define(self, definition: Definition) -> Definition:
        """Make the study, unless there is one; returns what there is.

        Raises:
            UserError: it cannot be read.
            OSError: it cannot be written.
        """
        text = msgspec.json.format(msgspec.json.encode(definition), indent=2) + b"\n"
        if (found := self.definition()) is None:
            place_directory(self.path, "study.json", text)
            found = self.definition()
        assert found is not None, "one was placed"
        return found

    def definition(self) -> Definition | None:
        """What is optimised; None: the sweep is no study.

        Raises:
            UserError: it cannot be read.
        """
        file = self.path / "study.json"
        try:
            return msgspec.json.decode(file.read_bytes(), type=Definition)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError) as error:
            raise UserError(f"cannot be read: {error}", where=str(file)) from error

    def mark_pruned(self, run_id: str) -> None:
        """Put on record that a run is stopped for being worse than others."""
        (self.path / "pruned").mkdir(exist_ok=True)
        (self.path / "pruned" / run_id).touch()

    def is_pruned(self, run_id: str) -> bool:
        """Whether :meth:`mark_pruned` was told so."""
        return (self.path / "pruned" / run_id).exists()


def study_of(sweep: Sweep) -> Definition | None:
    """What ``sweep`` optimises; None: it is no study."""
    return StudyDir(sweep.path).definition()
