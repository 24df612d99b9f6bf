"""How this command was called, for the commands that it suggests."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
from pathlib import Path


def own_command() -> str:
    """``mosaic-pipe`` where the shell finds it by that name, else the path that it was called by."""
    called = Path(sys.argv[0])
    found = shutil.which(called.name)
    return called.name if found and Path(found).resolve() == called.resolve() else str(called)


def default_output_dir() -> Path:
    """Where runs are when nobody says otherwise; ``conf/config.yaml`` says the same."""
    return Path(os.environ.get("MOSAIC_OUTPUT_DIR", "outputs"))


def with_output_dir() -> argparse.ArgumentParser:
    """A parent for parsers of commands that look at what is there: their option ``--output-dir``."""
    parent = argparse.ArgumentParser(add_help=False)
    parent.add_argument(
        "--output-dir",
        type=Path,
        default=default_output_dir(),
        help="directory that holds runs and sweeps (default: $MOSAIC_OUTPUT_DIR, else outputs)",
    )
    return parent


def runs_command(verb: str, run_id: str, output_dir: Path) -> str:
    """The command line that does ``verb`` to a run in ``output_dir``."""
    where = [] if output_dir == default_output_dir() else ["--output-dir", str(output_dir)]
    return shlex.join([own_command(), "runs", verb, run_id, *where])


def resume_command(run_id: str, output_dir: Path) -> str:
    """The command line that goes on with a run in ``output_dir``."""
    where = [] if output_dir == default_output_dir() else [f"output_dir={output_dir}"]
    return shlex.join([own_command(), "mode=resume_training", f"resume.run={run_id}", *where])


def sweep_command(verb: str, name: str, output_dir: Path, *options: str) -> str:
    """The command line that does ``verb`` to the sweep ``name`` in ``output_dir``."""
    where = [] if output_dir == default_output_dir() else ["--output-dir", str(output_dir)]
    return shlex.join([own_command(), "sweep", verb, name, *options, *where])
