"""The identity of an experiment (``spec_hash``) and of a run (``run_id``).

Two specs with the same hash describe the same experiment: everything that can change a result is in it, and nothing
else. The number in front of the hash names these rules; change them, and it must change.
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

import msgspec
from ulid import ULID

from mosaic_pipe.spec.schema import RunSpec

HASH_VERSION = 2

# Where a run lives, who watches it, what it may use and what it is called cannot change its result.
_WITHOUT_EFFECT = ("run_id", "schema_version", "checkpoint", "tracking", "fastlane", "resources", "sweep", "labels")
_PLACES = {
    "worker": ("python", "path", "repository", "ray"),
    "resume": ("run", "checkpoint"),
    "dataset": ("run", "path"),
}
_PLAYS = ("policy_eval", "collect")


def new_run_id() -> str:
    """A fresh ULID: 26 characters, sorted by time of submission."""
    return str(ULID())


def spec_hash(spec: RunSpec) -> str:
    """``v2-`` and the sha256 of the spec's canonical JSON without what cannot change a result."""
    plain: dict[str, Any] = msgspec.to_builtins(spec)
    for key in _WITHOUT_EFFECT:
        del plain[key]
    for part, keys in _PLACES.items():
        for key in keys:
            plain[part].pop(key, None)
    _leave_out_unused(plain, spec.mode)
    digest = hashlib.sha256(canonical_json(plain).encode()).hexdigest()
    return f"v{HASH_VERSION}-{digest}"


def _leave_out_unused(plain: dict[str, Any], mode: str) -> None:
    """Remove the parts of a spec that its mode and its algorithm do not look at."""
    plays, offline = mode in _PLAYS, mode not in _PLAYS and "updates" in plain["algo"]
    if offline:
        del plain["total_timesteps"]
    del plain["eval"]["interval"]
    if mode == "collect":
        plain["eval"] = {key: plain["eval"][key] for key in ("deterministic", "max_episode_steps")}
    else:
        del plain["collect"]
    if not plays and not offline:
        del plain["eval"]
    if plain["dataset"]["sha256"] is None:
        del plain["dataset"]


def canonical_json(value: Any) -> str:
    """One text for one value: keys sorted, no spaces, UTF-8 as it is, ``1.0`` as ``1`` and ``-0.0`` as ``0``.

    Numbers follow RFC 8785 in that a number's text depends on its value alone.

    Raises:
        ValueError: for NaN and infinities, which JSON cannot say.
    """
    return json.dumps(_canonical(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _canonical(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _canonical(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    if isinstance(value, float) and math.isfinite(value) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value
