"""What a command line means for a sweep: which of its points are new, done, under way or to be tried again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from mosaic_pipe.spec.identity import spec_hash
from mosaic_pipe.spec.schema import RunSpec
from mosaic_pipe.sweep.status import PointStatus

_NO_DIFFERENCE = ("run_id", "sweep", "labels", "resources", "tracking", "fastlane", "checkpoint")


@dataclass(frozen=True)
class Change:
    """The same overrides meant something else when the sweep was planned; ``keys``: ``key: old, now new``."""

    overrides: tuple[str, ...]
    spec_hash: str
    keys: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """Points asked for by a command line, against those that the sweep has."""

    asked: Sequence[tuple[tuple[str, ...], str, RunSpec]]
    """Overrides, spec hash and spec of each, without repetitions."""
    repeated: int
    """How many more points were asked for that are the same experiments."""
    known: Mapping[str, PointStatus]
    """Those of them that the sweep has already, by spec hash."""
    changes: Sequence[Change]
    others: int
    """Points of the sweep that this command line does not ask for."""

    @property
    def missing(self) -> list[tuple[tuple[str, ...], str, RunSpec]]:
        """Those that have not completed and that nobody works on."""
        return [one for one in self.asked if one[1] not in self.known or self.known[one[1]].is_missing]


def make_plan(wanted: Sequence[tuple[tuple[str, ...], RunSpec]], statuses: Sequence[PointStatus]) -> Plan:
    """The plan for ``wanted``, overrides and spec of each point, in a sweep whose points are ``statuses``."""
    asked: dict[str, tuple[tuple[str, ...], str, RunSpec]] = {}
    for overrides, spec in wanted:
        digest = spec_hash(spec)
        asked.setdefault(digest, (overrides, digest, spec))
    have = {status.point.spec_hash: status for status in statuses}
    unasked = {
        _sorted(status.point.overrides): status.point for status in statuses if status.point.spec_hash not in asked
    }
    changes = [
        Change(overrides, unasked[key].spec_hash, tuple(differences(unasked[key].spec, spec)))
        for overrides, digest, spec in asked.values()
        if digest not in have and (key := _sorted(overrides)) in unasked
    ]
    known = {digest: have[digest] for digest in asked if digest in have}
    return Plan(list(asked.values()), len(wanted) - len(asked), known, changes, len(unasked))


def differences(old: RunSpec, new: RunSpec) -> Iterator[str]:
    """``key: old, now new`` for what makes two specs different experiments."""
    before, after = dict(leaves(old)), dict(leaves(new))
    for key in sorted({*before, *after}):
        if key.split(".")[0] not in _NO_DIFFERENCE and before.get(key) != after.get(key):
            yield f"{key}: {before.get(key, 'not set')}, now {after.get(key, 'not set')}"


def leaves(spec: RunSpec) -> Iterator[tuple[str, Any]]:
    """Dotted keys of a spec and their values."""
    return _leaves(msgspec.to_builtins(spec))


def _leaves(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list | tuple) else None
    if items is None or not node:
        yield path, node
        return
    for key, value in items:
        yield from _leaves(value, f"{path}.{key}" if path else str(key))


def _sorted(overrides: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(overrides))
