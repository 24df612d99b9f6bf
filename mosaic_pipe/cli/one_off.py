"""Workers asked for something other than a run: nothing of it is recorded, nothing is left behind."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from mosaic_pipe.base.errors import Exit, SpecError
from mosaic_pipe.base.linux import die_with_parent
from mosaic_pipe.cli.tables import print_json
from mosaic_pipe.launch.preparation import Preparation
from mosaic_pipe.spec.identity import spec_hash
from mosaic_pipe.spec.schema import RunSpec
from mosaic_pipe.supervise.start import worker_arguments, worker_program, worker_variables


def dry_run_spec(spec: RunSpec, say: Callable[[str], None]) -> int:
    """``--dry-run``: print as JSON what would run: the spec, its hash, and the worker's own answer.

    Raises:
        UserError: the worker refuses it.
    """
    with _asked(spec, say, "--dry-run") as (command, variables, folder):
        asked = subprocess.run(command, capture_output=True, text=True, env=variables, cwd=folder, check=False)
    if asked.returncode:
        raise SpecError(asked.stderr.strip().removeprefix("error: "), where=f"worker {spec.worker.name}")
    answer = {"spec_hash": spec_hash(spec), "spec": spec, "worker": msgspec.json.decode(asked.stdout)}
    print_json(answer)
    return Exit.OK


def interact_with(spec: RunSpec, say: Callable[[str], None]) -> int:
    """``mode=interactive``: the worker reads commands from our stdin and replies on our stdout.

    Raises:
        UserError: the worker cannot do it.
    """
    sys.stdout.flush()
    with _asked(spec, say, "--interactive") as (command, variables, folder):
        code = subprocess.run(command, env=variables, cwd=folder, preexec_fn=die_with_parent(), check=False).returncode
    return Exit.OK if code == 0 else Exit.BAD_INPUT if code == Exit.BAD_INPUT else Exit.RUN_FAILED


@contextmanager
def _asked(spec: RunSpec, say: Callable[[str], None], flag: str) -> Iterator[tuple[list[str], dict[str, str], str]]:
    """A worker's command line with ``flag``, its environment variables, and a folder that is gone afterwards."""
    prepared = Preparation(say).prepare(spec)
    with tempfile.TemporaryDirectory(prefix="mosaic-pipe-") as folder:
        file = Path(folder) / "spec.json"
        file.write_bytes(msgspec.json.encode(spec))
        program = worker_program(prepared.worker, prepared.environment)
        yield [*program, *worker_arguments(file), flag], worker_variables(spec, prepared.environment), folder
