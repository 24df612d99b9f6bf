"""Which tests stay together where several processes share them, and which begin first.

A file's tests stay together, as they may share what took long to make; pytest-xdist's own marks for that (3.8) do
nothing with pytest 9.2. Long ones first, so that no process is left alone with them.
"""

from __future__ import annotations

import re

from xdist.scheduler import LoadScopeScheduling

TOGETHER = (
    r"tests/slurm/",  # there is one Slurm
    r"tests/cleanrl/test_agents\.py",
    r"tests/cleanrl/test_algorithms\.py",
    r"tests/conformance/test_worker\.py::\w+\[[a-z]+",  # each worker, and each case, is trained once
    r"tests/conformance/test_metrics\.py::\w+\[[^\]]+\]",
)
"""Tests that match the same text are one unit of work."""
APART = (
    "tests/cleanrl/",
    "tests/cli/test_run.py",
    "tests/script/",
    "tests/supervise/",
    "tests/sweeps/",
    "tests/tianshou/test_resume.py",
)
"""Long files whose tests share nothing: each test is a unit, and these units come after the larger ones."""
SHORT = ("cli", "kit", "launch", "script", "spec", "store", "telemetry")
"""Folders of short tests, which come last."""


class Scheduling(LoadScopeScheduling):
    """xdist's scheduling, with these units of work."""

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)


def unit(nodeid: str) -> str:
    """The unit of work that a test belongs to."""
    for pattern in TOGETHER:
        if match := re.match(pattern, nodeid):
            return re.sub(r"::\w+", "", match.group())  # whatever the test's own name
    return nodeid if nodeid.startswith(APART) else nodeid.partition("::")[0]


def rank(nodeid: str) -> int:
    """When a test's turn is; those of one rank keep their order."""
    if nodeid.split("/")[1] in SHORT:
        return 2
    return 1 if unit(nodeid) == nodeid else 0
