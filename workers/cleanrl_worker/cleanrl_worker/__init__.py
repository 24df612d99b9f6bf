"""CleanRL, unmodified, as a mosaic-pipe worker."""

import json
from pathlib import Path
from typing import Any, Dict


def get_worker_metadata() -> Dict[str, Any]:
    """The static description of this worker, as in ``capabilities.json``."""
    metadata: Dict[str, Any] = json.loads((Path(__file__).parent / "capabilities.json").read_text(encoding="utf-8"))
    return metadata
