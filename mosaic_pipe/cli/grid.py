"""``hydra/sweeper=grid``: every combination of the values that the overrides list, with some keys paired."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Annotated, Any

import msgspec
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf

from mosaic_pipe.base.errors import SpecError
from mosaic_pipe.base.suggest import did_you_mean

ZIP = "hydra.sweeper.zip"


class GridSweeper:
    """The points of a grid. Unlike Hydra's BasicSweeper it composes none of them: the launcher does."""

    def __init__(self, params: dict[str, Any] | None, zip: Any) -> None:
        """``params``: sweeps that a config defines. ``zip``: keys that are paired, one list of them or several."""
        self._params = dict(params or {})
        self._zip = _groups(OmegaConf.to_container(zip) if OmegaConf.is_config(zip) else zip)
        self._launcher: Launcher | None = None

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """As Hydra wants it."""
        self._loader = hydra_context.config_loader
        self.config = config
        self._launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> Any:
        """Launch all points at once.

        Raises:
            SpecError: a key is paired that has no values, or not as many.
        """
        assert self._launcher is not None
        texts = [*(f"{key}={values}" for key, values in self._params.items()), *arguments]
        overrides = OverridesParser.create(config_loader=self._loader).parse_overrides(texts)
        return self._launcher.launch(grid(overrides, self._zip), initial_job_idx=0)


def grid(overrides: Sequence[Override], zipped: Sequence[Sequence[str]] = ()) -> list[list[str]]:
    """The overrides of each point, the last key running fastest.

    Args:
        overrides: of a multirun; one that is given again replaces the first.
        zipped: groups of keys whose values are paired.

    Raises:
        SpecError: a key is paired that has no values, or not as many.
    """
    values: dict[str, list[str]] = {}
    for override in overrides:
        values[override.get_key_element()] = _values(override)
    names = {key.lstrip("+"): key for key in values}
    axes: dict[str, list[tuple[str, ...]]] = {key: [(one,) for one in listed] for key, listed in values.items()}
    for group in zipped:
        first, *others = (_known(name, names) for name in group)
        if len({len(values[key]) for key in (first, *others)}) > 1:
            lengths = ", ".join(f"{key} {len(values[key])}" for key in (first, *others))
            raise SpecError(f"paired keys have different numbers of values: {lengths}", where=ZIP)
        axes[first] = list(zip(values[first], *(values[key] for key in others), strict=True))
        for key in others:
            del axes[key]
    return [[one for part in parts for one in part] for parts in product(*axes.values())]


def _values(override: Override) -> list[str]:
    key = override.get_key_element()
    if not override.is_sweep_override():
        return [
            f"{key}={override.get_value_element_as_str()}" if not override.is_delete() else override.input_line or key
        ]
    if not override.is_discrete_sweep():
        hint = "list values, or use hydra/sweeper=optuna"
        raise SpecError("a grid needs values, not an interval", where=key, hint=hint)
    return [f"{key}={value}" for value in override.sweep_string_iterator()]


def _known(name: str, names: dict[str, str]) -> str:
    if name not in names:
        raise SpecError(f"{name!r} is not swept", where=ZIP, hint=did_you_mean(name, names))
    return names[name]


def _groups(zipped: Any) -> list[list[str]]:
    if not zipped:
        return []
    groups = zipped if isinstance(zipped, list) and isinstance(zipped[0], list) else [zipped]
    try:
        found = msgspec.convert(groups, list[Annotated[list[str], msgspec.Meta(min_length=2)]])
    except msgspec.ValidationError:
        found = []
    keys = [key for group in found for key in group]
    if not found or len(set(keys)) < len(keys):
        raise SpecError("lists of two or more keys are wanted, and no key twice", where=ZIP)
    return found
