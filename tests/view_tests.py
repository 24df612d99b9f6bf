"""What tests of the viewer share: runs out of a manifest, the token."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from machine import REPOSITORY
from ulid import ULID

from mosaic_pipe.store.manifest import Manifest
from mosaic_pipe.store.run_dir import RunDir

GOLDEN = REPOSITORY / "tests" / "golden" / "manifest-v1.json"
TOKEN = "a-token-for-tests"
SOCKET = "ws://localhost:8080/frames"

AddRun = Callable[..., RunDir]


def golden(**changes: Any) -> Manifest:
    """A manifest of a completed run, with ``changes``; those of the spec under its keys."""
    manifest = msgspec.json.decode(GOLDEN.read_bytes(), type=Manifest)
    run_id = changes.pop("run_id", None) or str(ULID())
    of_spec = {key: changes.pop(key) for key in list(changes) if key in manifest.spec.__struct_fields__}
    manifest.run_id, manifest.sweep = run_id, of_spec.get("sweep")
    manifest.spec = msgspec.structs.replace(manifest.spec, **of_spec | {"run_id": run_id})
    for name, value in changes.items():
        setattr(manifest, name, value)
    return manifest
