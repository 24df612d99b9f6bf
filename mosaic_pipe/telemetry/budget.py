"""How far a run is in what it was given to do."""

from __future__ import annotations

from msgspec import UNSET

from mosaic_pipe.spec.schema import RunSpec
from mosaic_pipe.telemetry.fold import Summary


def budget(summary: Summary, spec: RunSpec) -> tuple[int, int, str]:
    """How much of its budget a run has used, the budget, and what it is counted in."""
    if spec.mode == "policy_eval":
        return summary.eval_episodes, spec.eval.episodes * spec.eval.repeat, "episodes"
    if spec.mode == "collect":
        return summary.env_steps, spec.collect.steps, "steps"
    if spec.algo.updates is not UNSET:
        return summary.updates or 0, spec.algo.updates, "updates"
    return summary.env_steps, spec.total_timesteps, "steps"
