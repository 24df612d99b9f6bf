"""A stranger's machine: mosaic-pipe and a third-party worker installed from wheels, outside the repository."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
RANDOM_WORKER = REPOSITORY / "tests" / "workers" / "random_worker"
ENV_PACKAGE = REPOSITORY / "tests" / "env_package"


class Machine:
    """Runs ``mosaic-pipe`` as a user would: another virtualenv, another folder, environments of its own."""

    def __init__(self, venv: Path, home: Path, folder: Path) -> None:
        self.venv, self.folder = venv, folder
        self.started: list[subprocess.Popen[str]] = []
        self.outputs = folder / "outputs"
        ours = {"MOSAIC_HOME": str(home), "MOSAIC_OUTPUT_DIR": str(self.outputs), "COLUMNS": "200"}
        self.variables = {**{k: v for k, v in os.environ.items() if not k.startswith("MOSAIC_")}, **ours}

    def command(self, *arguments: str) -> list[str]:
        return [str(self.venv / "bin" / "mosaic-pipe"), *arguments]

    def run(self, *arguments: str, expect: int | None = 0, prefix: list[str] | None = None) -> str:
        """Run to the end; returns stdout. ``expect``: the exit code. ``prefix``: a command to run it under."""
        command = [*(prefix or []), *self.command(*arguments)]
        done = subprocess.run(
            command, cwd=self.folder, env=self.variables, capture_output=True, text=True, timeout=600, check=False
        )
        self.stderr = done.stderr
        if expect is not None:
            assert done.returncode == expect, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stdout
        return done.stdout

    def start(self, *arguments: str, prefix: list[str] | None = None) -> subprocess.Popen[str]:
        """Start in the background, in a session of its own as a terminal would."""
        process = subprocess.Popen(
            [*(prefix or []), *self.command(*arguments)],
            cwd=self.folder,
            env=self.variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            # ignored where the tests themselves run in the background of a script
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        self.started.append(process)
        return process

    def close(self) -> None:
        """End what was started and still runs."""
        for process in self.started:
            process.kill()
            process.communicate()

    def run_ids(self) -> list[str]:
        runs = self.outputs / "runs"
        return sorted(path.name for path in runs.iterdir()) if runs.is_dir() else []

    def run_dir(self, run_id: str | None = None) -> Path:
        return self.outputs / "runs" / (run_id or self.run_ids()[-1])

    def manifest(self, run_id: str | None = None) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.run_dir(run_id) / "manifest.json").read_text())
        return found

    def events(self, run_id: str | None = None, kind: str | None = None) -> list[dict[str, Any]]:
        lines = (self.run_dir(run_id) / "attempts" / "1" / "events.jsonl").read_text().splitlines()
        events = [json.loads(line) for line in lines]
        return [event for event in events if kind in (None, event["event"])]

    def wait_for(self, what: Callable[[], Any], seconds: float = 60.0) -> Any:
        """Wait until ``what`` gives something true; it may fail while files are not there yet."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                if found := what():
                    return found
            except (OSError, IndexError, ValueError, KeyError):
                pass
            time.sleep(0.05)
        raise AssertionError(f"waited {seconds} s in vain")

    def wait_for_training(self, before: list[str]) -> str:
        """Wait until a run that is not in ``before`` has reported an episode; returns its id."""

        def training() -> str | None:
            new = [run_id for run_id in self.run_ids() if run_id not in before]
            return new[0] if new and self.events(new[0], "episode") else None

        found: str = self.wait_for(training)
        return found


def processes_of(run_dir: Path) -> list[int]:
    """Living processes of the run in ``run_dir``: its worker, and what that has started, wherever it is."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            environ = (entry / "environ").read_bytes()
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            ours = b"MOSAIC_RUN_TOKEN=" in environ and str(run_dir) == str((entry / "cwd").readlink())
        except OSError:
            continue
        if ours and state not in "ZX":
            found.append(int(entry.name))
    return found


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
