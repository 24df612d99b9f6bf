"""``mosaic-pipe OVERRIDES…``: compose a config with Hydra, and run what it describes."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import hydra
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.errors import HydraException
from hydra.plugins.search_path_plugin import SearchPathPlugin
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from mosaic_pipe.base.bundled import bundled
from mosaic_pipe.base.errors import Exit, SpecError, UserError
from mosaic_pipe.cli.hydra_errors import as_spec_error
from mosaic_pipe.cli.invocation import invocation
from mosaic_pipe.cli.notice import show_notice
from mosaic_pipe.cli.specs import Call, spec_of, split_call
from mosaic_pipe.workers.registry import config_dirs


def main(arguments: list[str]) -> int:
    """Run Hydra's command line over ``conf/``.

    Returns:
        The exit code: of the worst run, where there were several.

    Raises:
        UserError: anything wrong with the config.
    """
    sys.argv[1:] = _with_our_flags(arguments)
    codes = invocation.exit_codes
    invocation.arguments = arguments
    # Hydra otherwise prints errors itself, exits with 1, and hides where they come from.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    Plugins.instance().register(_WorkersConfigs)
    app = hydra.main(version_base="1.3", config_path=str(bundled("conf")), config_name="config")(
        _task(codes, arguments)
    )
    try:
        app()
    except (HydraException, OmegaConfBaseException) as error:
        raise as_spec_error(error) from error
    except ValueError as error:  # flags that Hydra does not combine
        if _raised_by_hydra(error):
            raise SpecError(str(error)) from error
        raise
    return max(codes, default=Exit.OK)


def _task(codes: list[int], arguments: list[str]) -> Callable[[DictConfig], None]:
    def mosaic_pipe(config: DictConfig) -> None:
        try:
            code = _run(config, arguments)
        except UserError as error:  # a multirun goes on with its next point
            show_notice(f"error: {error}")
            code = error.exit_code
        codes.append(code)
        if code == Exit.CANCELLED:
            raise KeyboardInterrupt

    return mosaic_pipe


def _run(config: DictConfig, arguments: list[str]) -> int:
    try:
        plain = cast(dict[str, Any], OmegaConf.to_container(config, resolve=True))
    except OmegaConfBaseException as error:  # an interpolation that leads nowhere
        raise as_spec_error(error) from error
    call, plain = split_call(plain)
    hydra_config = HydraConfig.get()
    if hydra_config.mode is not RunMode.MULTIRUN:  # one of Hydra's own launchers calls this for each point
        _refuse_sweeps_keys(hydra_config.runtime.choices["hydra/launcher"], call)
    spec = spec_of(plain, call, hydra_config.overrides.task, hydra_config.runtime.choices, arguments)
    if call.dry_run or spec.mode == "interactive":
        from mosaic_pipe.cli.one_off import dry_run_spec, interact_with

        return dry_run_spec(spec, show_notice) if call.dry_run else interact_with(spec, show_notice)
    from mosaic_pipe.cli.foreground import run_in_foreground

    return run_in_foreground(spec, Path(call.output_dir))


def _refuse_sweeps_keys(launcher: str, call: Call) -> None:
    """A single run stays here, whatever was asked for."""
    hint = "add -m: a sweep may have a single point"
    if launcher != "local":
        raise SpecError("launches sweeps, and this is a single run", where=f"hydra/launcher={launcher}", hint=hint)
    if call.detach:
        raise SpecError("is for sweeps", where="detach", hint=hint)


def _with_our_flags(arguments: list[str]) -> list[str]:
    """Our flags as overrides, all that Hydra knows; and it takes ``>`` and ``|`` for no part of a word."""
    given = iter(arguments)
    words = (f"{word}={next(given, '')}" if word == "--budget" else word for word in given)
    ours = (word.removeprefix("--") if word.startswith("--budget=") else word for word in words)
    return _for_each_point(["dry_run=true" if word == "--dry-run" else _quoted(word) for word in ours])


def _for_each_point(words: list[str]) -> list[str]:
    """In ``algo=dqn,c51 algo.buffer_size=1000`` the key is of the algorithms swept over, as a sweep over one value.

    Hydra applies other overrides to the default config first, whose algorithm may lack the key.
    """
    if not {"-m", "--multirun"} & set(words) or any(re.match("hydra/sweeper=(?!grid$)", word) for word in words):
        return words
    swept = {word.partition("=")[0] for word in words if re.match(r"[a-z_]+=(glob\(|.*,)", word)}
    return [
        f"{word[: given.end()]}choice({word[given.end() :]})"
        if (given := re.match(r"([a-z_]+)\.[\w.]+=(?!.*,|\w+\(|$)", word)) and given[1] in swept
        else word
        for word in words
    ]


def _quoted(argument: str) -> str:
    """``….until=steps>=8000`` with quotes around its value, or around each value of a sweep over it."""
    key, equals, value = argument.partition("=")
    if not re.fullmatch(r"\+{0,2}curriculum\.stages\.\d+\.until", key) or re.search("['\"]", value):
        return argument
    return key + equals + ",".join(f"'{one}'" if re.search("[<>|&]", one) else one for one in value.split(","))


class _WorkersConfigs(SearchPathPlugin):
    """Presets that installed workers bring with them, after our own."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        for path in config_dirs():
            search_path.append("mosaic-pipe workers", f"file://{path}")


def _raised_by_hydra(error: Exception) -> bool:
    frames = traceback.extract_tb(error.__traceback__)
    return Path(hydra.__file__).parent in Path(frames[-1].filename).parents
