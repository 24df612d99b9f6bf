"""``worker.script``: a file to execute, so that only a command line may name it; its header sets defaults."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mosaic_worker import errors as kit
from mosaic_worker.script import Header, read_header
from msgspec.structs import replace

from mosaic_pipe.base.errors import SpecError
from mosaic_pipe.cli.where import sets
from mosaic_pipe.spec.schema import RunSpec

KEY = "worker.script"


def settle_script(spec: RunSpec, script: str, arguments: Iterable[str], overrides: Iterable[str]) -> RunSpec:
    """``spec`` with the absolute path of ``script``, and with what its header says where no override says otherwise.

    Args:
        spec: names ``script``.
        script: relative to the current directory.
        arguments: what the user typed. Hydra's list of overrides doesn't tell: configs can add to it.
        overrides: Hydra's list, of this point of a multirun.

    Raises:
        SpecError: the command line does not name it, it cannot be read, or its header is wrong.
    """
    if not sets(arguments, KEY):
        hint = f"if you want {script!r} to run, name it on the command line: {KEY}=…"
        raise SpecError("a config may not name a script to execute", where=KEY, hint=hint)
    try:
        path = Path(script).absolute()
        header = read_header(path)
    except kit.UserError as error:
        raise SpecError(str(error), where=KEY) from error
    return _with_defaults(replace(spec, worker=replace(spec.worker, script=str(path))), header, list(overrides))


def _with_defaults(spec: RunSpec, header: Header, overrides: list[str]) -> RunSpec:
    if header.total_timesteps and not sets(overrides, "total_timesteps"):
        spec = replace(spec, total_timesteps=header.total_timesteps)
    if header.env_family and not (sets(overrides, "env") or sets(overrides, "env.family")):
        spec = replace(spec, env=replace(spec.env, family=header.env_family))
    if header.description:
        spec = replace(spec, labels={"description": header.description, **spec.labels})
    return spec
