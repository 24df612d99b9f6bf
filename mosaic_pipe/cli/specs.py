"""From a composed config to a spec, and to what the config says about how to run it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from mosaic_pipe.base.errors import SpecError
from mosaic_pipe.cli.script import settle_script
from mosaic_pipe.cli.where import given_keys, locator
from mosaic_pipe.launch.dataset import with_dataset
from mosaic_pipe.launch.resume import with_checkpoint
from mosaic_pipe.spec.compose import compose_spec
from mosaic_pipe.spec.schema import RunSpec
from mosaic_pipe.store.runs import Runs

T = TypeVar("T")


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """Keys of the config that say how to call runs, not what they are; ``conf/config.yaml`` explains them."""

    output_dir: str
    dry_run: bool
    detach: bool | None
    fail_fast: bool
    skip_refused: bool
    replan: bool
    budget: float | None

    @property
    def runs(self) -> Runs:
        """Where runs are."""
        return Runs(Path(self.output_dir))


def split_call(config: Mapping[str, Any]) -> tuple[Call, dict[str, Any]]:
    """The two parts of a composed config: how to call it, and the keys of a spec.

    Raises:
        SpecError: a key of the call has the wrong type.
    """
    call = {key: config.get(key) for key in Call.__struct_fields__}
    try:
        found = msgspec.convert(call, Call)
    except msgspec.ValidationError as error:
        message, _, key = str(error).partition(" - at `$.")
        key = key.rstrip("`")
        raise SpecError(f"{message[:1].lower()}{message[1:]} (given: {call.get(key)!r})", where=key) from error
    return found, {key: value for key, value in config.items() if key not in call}


def launcher_settings(settings: dict[str, Any], type_: type[T]) -> T:
    """``hydra.launcher``, as the launcher wants it.

    Raises:
        SpecError: an unknown key, or a value of the wrong type.
    """
    try:
        return msgspec.convert(settings, type_)
    except msgspec.ValidationError as error:
        message, _, key = str(error).partition(" - at `$")
        raise SpecError(f"{message[:1].lower()}{message[1:]}", where=f"hydra.launcher{key.rstrip('`')}") from error


def spec_of(
    config: dict[str, Any], call: Call, overrides: Sequence[str], choices: Mapping[str, Any], arguments: Sequence[str]
) -> RunSpec:
    """The spec that a composed config describes.

    Args:
        config: its part that is the spec's, from :func:`split_call`.
        call: the other part.
        overrides: those of this composition.
        choices: which config was chosen in each group.
        arguments: what the user typed.

    Raises:
        UserError: anything wrong with it.
    """
    given = given_keys(overrides)
    config = with_checkpoint(config, given, call.runs)
    spec = with_dataset(compose_spec(config, locator(overrides, choices)), given, call.runs)
    if spec.algo.updates is not UNSET and "total_timesteps" in given:
        hint = f"its budget is algo.updates={spec.algo.updates}"
        raise SpecError(f"{spec.algo.name} takes no environment steps", where="total_timesteps", hint=hint)
    return settle_script(spec, spec.worker.script, arguments, overrides) if spec.worker.script is not None else spec
