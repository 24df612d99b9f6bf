"""``--dry-run``: everything is resolved and checked, by the worker too, and nothing is started or left behind."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from mosaic_pipe.base.errors import Exit, SpecError
from mosaic_pipe.launch.foreground import prepare
from mosaic_pipe.spec.identity import spec_hash
from mosaic_pipe.spec.schema import RunSpec
from mosaic_pipe.supervise.process import worker_command, worker_variables


def dry_run_spec(spec: RunSpec, say: Callable[[str], None]) -> int:
    """Print as JSON what would run: the spec, its hash, and the worker's own answer.

    Raises:
        UserError: the worker refuses it.
    """
    prepared = prepare(spec, say)
    with tempfile.TemporaryDirectory(prefix="mosaic-pipe-") as folder:
        file = Path(folder) / "spec.json"
        file.write_bytes(msgspec.json.encode(spec))
        command = [*worker_command(prepared.worker, prepared.environment, file), "--dry-run"]
        variables = worker_variables(spec, prepared.environment)
        asked = subprocess.run(command, capture_output=True, text=True, env=variables, cwd=folder, check=False)
    if asked.returncode:
        raise SpecError(asked.stderr.strip().removeprefix("error: "), where=f"worker {spec.worker.name}")
    answer = {"spec_hash": spec_hash(spec), "spec": spec, "worker": msgspec.json.decode(asked.stdout)}
    print(msgspec.json.format(msgspec.json.encode(answer), indent=2).decode())
    return Exit.OK
