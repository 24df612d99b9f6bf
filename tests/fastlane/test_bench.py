"""The short form of ``scripts/bench/fastlane.py --reads``: two that write, two that read, nothing torn."""

from __future__ import annotations

import subprocess
import sys

from machine import REPOSITORY


def test_no_frame_is_torn() -> None:
    command = [sys.executable, str(REPOSITORY / "scripts" / "bench" / "fastlane.py"), "--reads", "20000"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "20,000 reads" in done.stdout
    assert "; 0 torn;" in done.stdout
