"""The dataset that a run learns from: found, looked at, and put into its spec by path and content."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mosaic_worker import errors as kit
from mosaic_worker.datasets import DESCRIPTION, FOLDER, Description, read_description
from msgspec.structs import replace

from mosaic_pipe.base.errors import SpecError, UserError
from mosaic_pipe.spec.schema import DatasetSpec, RunSpec
from mosaic_pipe.store.run_dir import RunDir
from mosaic_pipe.store.runs import Runs

_LEARNS = ("train", "resume_training")


def with_dataset(spec: RunSpec, given: Iterable[str], runs: Runs) -> RunSpec:
    """``spec`` with the absolute path and the sha256 of the dataset that it names, where it names one.

    Args:
        spec: a composed one.
        given: the dotted keys that the user set on the command line.
        runs: where runs are looked for.

    Raises:
        UserError: no such run or dataset, one that is not whole, or of another environment.
    """
    asked = spec.dataset
    if spec.mode not in _LEARNS:  # the run whose policy plays may have learned from one
        if any(key.partition(".")[0] == "dataset" for key in given):
            raise SpecError(f"mode={spec.mode} learns from nothing", where="dataset")
        return replace(spec, dataset=DatasetSpec())
    if asked.run is None and asked.path is None:
        return spec
    run, folder = _place(asked, runs)
    try:
        found = read_description(folder)
    except kit.UserError as error:
        raise SpecError(str(error), where="dataset", hint="record one with mode=collect resume.run=RUN") from error
    if asked.sha256 not in (None, found["sha256"]):
        raise SpecError(f"{folder} is not what the run that goes on has learned from", where="dataset")
    _check_environment(spec, found)
    return replace(spec, dataset=DatasetSpec(run, str(folder), found["sha256"]))


def _place(asked: DatasetSpec, runs: Runs) -> tuple[str | None, Path]:
    """The run that recorded it, where one was named, and its folder."""
    if asked.path is None:
        run = _last(runs) if asked.run == "last" else runs.find(str(asked.run))
        return run.path.name, (run.path / FOLDER).absolute()
    if asked.run is not None and asked.sha256 is None:
        raise SpecError("name a run or a path, not both", where="dataset")
    return asked.run, Path(asked.path).absolute()


def _last(runs: Runs) -> RunDir:
    """The newest run that has recorded a dataset."""
    for run_id in reversed(runs.ids()):
        run = runs.new(run_id)
        if (run.path / FOLDER / DESCRIPTION).is_file():
            return run
    raise UserError("no run has recorded a dataset yet", where=f"dataset.run=last, runs in {runs.directory}")


def _check_environment(spec: RunSpec, found: Description) -> None:
    recorded, ours = found["env"], {"id": spec.env.id, "kwargs": spec.env.kwargs}
    for key, value in ours.items():
        if recorded[key] != value:
            said = f"it was recorded in {recorded['id']} with kwargs {recorded['kwargs']}"
            raise SpecError(f"{said}, and env.{key} is {value}", where="dataset", hint="choose the same environment")
