"""The points of a sweep, composed fast and exactly as Hydra composes them.

Hydra takes tens of milliseconds for one composition, and its multirun composes each point twice. The points of a sweep
mostly differ in a few scalars, so here Hydra composes each combination of config group choices once, and an override
that plainly sets a value is applied to a copy of the result. Whatever is not plain goes through Hydra, whose result is
kept for the other points that ask for the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import combinations
from types import TracebackType
from typing import Any, cast

from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, ValueType
from omegaconf import Container, DictConfig, OmegaConf, SCMode, open_dict, read_write
from omegaconf.errors import OmegaConfBaseException

from mosaic_pipe.base.errors import SpecError

# What an interpolation reads may be changed by a point, unless it is the environment.
_FROM_ENVIRONMENT = re.compile(r"\$\{oc\.env:[^${}]*\}")
_ABSENT = object()


@dataclass(frozen=True)
class ComposedPoint:
    """One point of a sweep."""

    overrides: tuple[str, ...]
    """As given."""
    config: dict[str, Any]
    """The composed config as a plain container, interpolations resolved, without ``hydra``; nobody else holds it."""
    choices: dict[str, Any]
    """What was chosen from each config group: ``hydra.runtime.choices``."""


class PointComposer:
    """Composes points, and keeps what they have in common.

    Args:
        loader: Hydra's own, as a launcher or a sweeper is given it in a ``HydraContext``.
        master: the config of the whole multirun, with the ``hydra`` node.
    """

    def __init__(self, loader: ConfigLoader, master: DictConfig) -> None:
        self._loader, self._master = loader, master
        self._parser = OverridesParser.create()
        self._parsed: dict[str, _Override] = {}
        self._groups: dict[str, bool] = {}
        self._compositions: dict[tuple[str, ...], _Composition | _Failure] = {}

    def compose(self, overrides: Sequence[str]) -> ComposedPoint:
        """The point that ``overrides`` describe, as Hydra's ``load_sweep_config`` would compose it.

        Raises:
            SpecError: an override of Hydra's own settings.
            Exception: what Hydra or OmegaConf raises for these overrides.
        """
        given = [self._parse(text) for text in overrides]
        applied = self._applicable(given)
        composition = self._through_hydra([override for override in given if override not in applied])
        return ComposedPoint(tuple(overrides), composition.config(applied), dict(composition.choices))

    def _applicable(self, given: list[_Override]) -> list[_Override]:
        """Those that can be applied to Hydra's composition of the others, with the result that Hydra would have."""
        keyed = [override for override in given if not override.chooses]
        if not keyed or any(override.sweeps for override in given) or _overlap([o.key for o in keyed]):
            return []
        base = self._through_hydra([override for override in given if override.chooses])
        applied = [override for override in keyed if override.plain and base.takes(override)]
        others = [override for override in keyed if override not in applied]
        if not all(base.leads_straight_to(override.key) for override in others):
            return []
        # Where Hydra may add keys to the same dict, the order of all of them is Hydra's.
        return [o for o in applied if not (o.adds and any(_is_beside(other.key, o.key) for other in others))]

    def _through_hydra(self, overrides: list[_Override]) -> _Composition:
        texts = tuple(override.text for override in overrides)
        if texts not in self._compositions:
            self._compositions[texts] = self._load(texts)
        found = self._compositions[texts]
        if isinstance(found, _Failure):
            raise found.error.with_traceback(found.traceback)
        return found

    def _load(self, texts: tuple[str, ...]) -> _Composition | _Failure:
        try:
            config = self._loader.load_sweep_config(self._master, list(texts))
        except Exception as error:  # raised again for each point that shares these overrides
            return _Failure(error, error.__traceback__)
        return _Composition(config)

    def _parse(self, text: str) -> _Override:
        if text not in self._parsed:
            self._parsed[text] = self._understand(self._parser.parse_overrides([text])[0], text)
        return self._parsed[text]

    def _understand(self, override: Override, text: str) -> _Override:
        key, value = override.key_or_group, override.value()
        if re.match(r"hydra([./]|$)", key):
            raise SpecError("hydra's own settings hold for the whole sweep", where=key)
        chooses = self._is_group(key) and not isinstance(value, dict)  # a dict is merged, even into a group
        sets = not override.is_delete() and override.value_type == ValueType.ELEMENT
        return _Override(
            text=text,
            key=key,
            value=value,
            adds=override.is_add() or override.is_force_add(),
            replaces=not override.is_add(),
            chooses=chooses,
            sweeps=override.is_sweep_override(),
            plain=sets and not chooses and override.package is None and _is_data(value),
        )

    def _is_group(self, key: str) -> bool:
        if key not in self._groups:
            hydra = self._master.hydra  # its overrides may add folders to search
            own: list[str] = list(hydra.overrides.hydra) if hydra.searchpath else []
            name = hydra.job.config_name if hydra.searchpath else None
            self._groups[key] = bool(self._loader.get_group_options(key, None, config_name=name, overrides=own))
        return self._groups[key]


@dataclass(frozen=True, eq=False)
class _Override:
    text: str
    key: str
    value: Any
    adds: bool
    """``+`` and ``++``: may make a new key."""
    replaces: bool
    """``++`` and neither: may change a key that is there."""
    chooses: bool
    """From a config group. Hydra makes all choices before it looks at any key."""
    sweeps: bool
    """Several values, which no point may have."""
    plain: bool
    """Sets one key, or adds one, and the value is data that stands for itself."""


@dataclass(frozen=True)
class _Failure:
    error: Exception
    traceback: TracebackType | None


class _Composition:
    """What Hydra composed from some overrides."""

    def __init__(self, config: DictConfig) -> None:
        self.choices = cast(dict[str, Any], OmegaConf.to_container(config.hydra.runtime.choices))
        with read_write(config), open_dict(config):
            del config["hydra"]  # as Hydra itself does for a task
        self._config = config
        # A structured config has types to check values against: it stays as it is, and takes nothing.
        self._unresolved: Any = OmegaConf.to_container(config, structured_config_mode=SCMode.DICT_CONFIG)

    def config(self, overrides: list[_Override]) -> dict[str, Any]:
        """The plain config with ``overrides``, all of which it takes."""
        if self._resolved is not None:
            return cast(dict[str, Any], _with(self._resolved, overrides))
        changed = self._config
        if overrides:
            changed = OmegaConf.create(_with(self._unresolved, overrides))
            OmegaConf.copy_cache(from_config=self._config, to_config=changed)
        return cast(dict[str, Any], OmegaConf.to_container(changed, resolve=True))

    @cached_property
    def _resolved(self) -> Any:
        """The plain config, or None where a point's overrides may change what its interpolations lead to."""
        if _interpolates(self._unresolved):
            return None
        try:
            return OmegaConf.to_container(self._config, resolve=True)
        except OmegaConfBaseException:  # an override may replace what cannot be resolved
            return None

    def takes(self, override: _Override) -> bool:
        """Whether all that Hydra would do for the plain ``override`` is to put its value in its place."""
        *path, last = override.key.split(".")
        parent = reduce(_child, path, self._unresolved)
        old = _child(parent, last)
        if old is _ABSENT:
            return override.adds and isinstance(parent, dict)
        refused = isinstance(old, dict) and isinstance(override.value, list)
        return override.replaces and not refused and not isinstance(old, Container)

    def leads_straight_to(self, key: str) -> bool:
        """Whether no interpolation is on the way to ``key`` or in it, so that nothing elsewhere is read or set."""
        node = self._unresolved
        for part in key.split("."):
            if isinstance(node, dict) and part not in node:
                return True
            node = _child(node, part)
        return node is not _ABSENT and not _interpolates(node)


def _overlap(keys: list[str]) -> bool:
    """Whether one of ``keys`` is given twice, or lies below another one: what comes first then matters."""
    return any(f"{one}.".startswith(f"{two}.") or f"{two}.".startswith(f"{one}.") for one, two in combinations(keys, 2))


def _is_beside(key: str, other: str) -> bool:
    """Whether ``key`` lies in the dict in which ``other`` lies, at any depth."""
    parent, dot, _ = other.rpartition(".")
    return key.startswith(parent + dot)


def _is_data(value: Any) -> bool:
    """Whether ``value``, lists apart, is one that stands for itself: not to be merged, not to be resolved."""
    if isinstance(value, list):
        return all(_is_data(item) for item in value)
    return not isinstance(value, dict) and not (isinstance(value, str) and "${" in value)


def _interpolates(node: Any) -> bool:
    """Whether anything in ``node`` may depend on another key."""
    if isinstance(node, dict | list):
        return any(_interpolates(item) for item in (node.values() if isinstance(node, dict) else node))
    return isinstance(node, Container) or (isinstance(node, str) and "${" in _FROM_ENVIRONMENT.sub("", node))


def _child(node: Any, part: str) -> Any:
    if isinstance(node, dict):
        return node.get(part, _ABSENT)
    is_index = isinstance(node, list) and part.isdecimal() and int(part) < len(node)
    return node[int(part)] if is_index else _ABSENT


def _with(config: Any, overrides: Iterable[_Override]) -> Any:
    """A copy of ``config`` that shares nothing with it, with the values of ``overrides``."""
    config = _copy(config)
    for override in overrides:
        *path, last = override.key.split(".")
        parent = reduce(_child, path, config)
        parent[int(last) if isinstance(parent, list) else last] = _copy(override.value)
    return config


def _copy(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _copy(item) for key, item in node.items()}
    return [_copy(item) for item in node] if isinstance(node, list) else node
