"""Starting from a checkpoint: the config of a run that goes on with another one's, or looks at its policy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from mosaic_worker.files import fingerprint

from mosaic_pipe.base.errors import SpecError, UserError
from mosaic_pipe.spec.schema import RunSpec
from mosaic_pipe.store.run_dir import RunDir
from mosaic_pipe.store.runs import Runs, current_manifest

_NEEDS = ("resume_training", "policy_eval", "collect")
_MAY = (*_NEEDS, "interactive")
_OF_THE_RUN = ("run_id", "schema_version")


def with_checkpoint(config: dict[str, Any], given: Sequence[str], runs: Runs) -> dict[str, Any]:
    """``config`` as it is, or, where it names a checkpoint, the spec of that checkpoint's run with ``given`` on top.

    Args:
        config: a composed config, a plain container.
        given: the dotted keys that the user set on the command line.
        runs: where runs are looked for.

    Raises:
        UserError: no such run or checkpoint, or it is not what the run wrote.
    """
    resume = config.get("resume")
    mode = config.get("mode")
    asked = isinstance(resume, dict) and bool(resume.get("run") or resume.get("checkpoint"))
    if not asked:
        if mode in _NEEDS:
            raise SpecError(f"mode={mode} starts from a checkpoint", where="resume", hint="set resume.run=last")
        return config
    assert isinstance(resume, dict)
    if mode not in _MAY:
        raise SpecError(f"mode={mode} starts from nothing", where="resume", hint="set mode=resume_training")
    run = _run(resume, runs)
    file = Path(resume["checkpoint"]).absolute() if resume.get("checkpoint") else _newest(run)
    keys = ["dataset" if key.startswith("dataset.") else key for key in given]  # run and path say one thing
    base = _overlaid(_spec(run), config, [*keys, "mode"]) if run else config
    found = {"run": run.path.name if run else None, "checkpoint": str(file), "sha256": _sha256(file, run)}
    return {**base, "resume": found}


def _run(resume: dict[str, Any], runs: Runs) -> RunDir | None:
    """The run whose spec holds; None for a checkpoint from elsewhere."""
    if resume.get("run"):
        return _last(runs) if resume["run"] == "last" else runs.find(str(resume["run"]))
    folder = Path(resume["checkpoint"]).absolute().parent
    owner = RunDir(folder.parent)
    return owner if folder.name == "checkpoints" and owner.manifest_file.is_file() else None


def _last(runs: Runs) -> RunDir:
    """The newest run that has a checkpoint."""
    for run_id in reversed(runs.ids()):
        run = runs.new(run_id)
        if run.manifest_file.is_file() and current_manifest(run).checkpoints:
            return run
    raise UserError("no run has a checkpoint yet", where=f"resume.run=last, runs in {runs.directory}")


def _newest(run: RunDir | None) -> Path:
    assert run is not None
    checkpoints = current_manifest(run).checkpoints
    if not checkpoints:
        raise UserError("has no checkpoint", where=f"run {run.path.name}")
    return (run.path / checkpoints[-1].path).absolute()


def _spec(run: RunDir) -> dict[str, Any]:
    spec: RunSpec = current_manifest(run).spec
    plain: dict[str, Any] = msgspec.to_builtins(spec)
    return {key: value for key, value in plain.items() if key not in _OF_THE_RUN}


def _overlaid(base: dict[str, Any], config: dict[str, Any], given: Sequence[str]) -> dict[str, Any]:
    """``base`` with the values that ``config`` has at the keys ``given``.

    Raises:
        SpecError: ``base`` has no such item of a list.
    """
    for key in given:
        *parents, name = key.split(".")
        source: Any = config
        target: Any = base
        try:
            for parent in parents:
                source, target = _item(source, parent), _item(target, parent)
            if isinstance(target, list):
                target[int(name)] = _item(source, name)
            elif name in source:
                target[name] = source[name]
            else:
                target.pop(name, None)
        except (KeyError, IndexError, ValueError) as error:
            raise SpecError("the run's own spec lacks this key", where=key) from error
    return base


def _item(node: Any, key: str) -> Any:
    return node[int(key)] if isinstance(node, list) else node[key]


def _sha256(file: Path, run: RunDir | None) -> str:
    try:
        sha256 = str(fingerprint(file)["sha256"])
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=f"checkpoint {file}") from error
    known = {run.path / one.path: one.sha256 for one in current_manifest(run).checkpoints} if run else {}
    if known.get(file, sha256) != sha256:
        raise UserError(
            "is not what the run wrote: cut short or changed since",
            where=f"checkpoint {file}",
            hint="name another one: resume.checkpoint=PATH",
        )
    return sha256
