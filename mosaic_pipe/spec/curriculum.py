"""What a curriculum must be, beyond its types."""

from __future__ import annotations

import re
from typing import Any

from mosaic_pipe.base.errors import SpecError
from mosaic_pipe.base.suggest import did_you_mean
from mosaic_pipe.spec.schema import CLAUSE, METRICS

DEFAULT_CONDITION = "steps>=100000"


def complete_stages(config: dict[str, Any]) -> dict[str, Any]:
    """``config`` (a composed config, a plain container) with a condition for every stage but the last.

    Raises:
        SpecError: the run's environment is not the first stage's, or the last stage would end.
    """
    curriculum = config.get("curriculum")
    stages = curriculum.get("stages") if isinstance(curriculum, dict) else None
    if not isinstance(stages, list) or not stages or not all(_is_stage(stage) for stage in stages):
        return config  # none, or nothing that the types let pass
    for number, stage in enumerate(stages):
        _check_condition(stage.get("until"), f"curriculum.stages.{number}.until")
    first, env = stages[0]["env_id"], config.get("env")
    if isinstance(env, dict) and env.get("id") != first:
        raise SpecError(
            f"{env.get('id')!r} is not the environment of the curriculum's first stage, {first!r}",
            where="env.id",
            hint="leave env to the curriculum's preset, or choose it to match",
        )
    *others, last = stages
    if last.get("until") is not None:
        raise SpecError(
            "the last stage is open: nothing would come after it",
            where=f"curriculum.stages.{len(others)}.until",
            hint="set it to null, or add a stage",
        )
    completed = [{**stage, "until": stage.get("until") or DEFAULT_CONDITION} for stage in others]
    return {**config, "curriculum": {**curriculum, "stages": [*completed, last]}}  # type: ignore[dict-item]


def _is_stage(stage: Any) -> bool:
    return (
        isinstance(stage, dict) and isinstance(stage.get("env_id"), str) and isinstance(stage.get("until"), str | None)
    )


def _check_condition(condition: str | None, where: str) -> None:
    for clause in re.split(r"[|&]", condition) if condition is not None else ():
        if re.fullmatch(CLAUSE, clause):
            continue
        metric = re.match(r"[A-Za-z_]*", clause)
        hint = "clauses such as steps>=100000, episodes>=50, episode_return>=0.9, joined by | and &, without spaces"
        if metric and metric[0] and metric[0] not in METRICS:
            hint = did_you_mean(metric[0], METRICS) or f"there are: {', '.join(METRICS)}"
        raise SpecError(f"{clause!r} is no condition (in {condition!r})", where=where, hint=hint)
