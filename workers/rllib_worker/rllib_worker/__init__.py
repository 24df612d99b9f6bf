"""Ray RLlib, unmodified, as a mosaic-pipe worker."""

import json
from pathlib import Path
from typing import Any


def get_worker_metadata() -> dict[str, Any]:
    """The static description of this worker, as in ``capabilities.json``."""
    metadata: dict[str, Any] = json.loads((Path(__file__).parent / "capabilities.json").read_text(encoding="utf-8"))
    return metadata
