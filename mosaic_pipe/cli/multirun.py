"""A multirun as a sweep: its points are composed, planned against what the sweep has, and launched. Hydra's side."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from hydra.core.utils import JobReturn, JobStatus
from hydra.errors import HydraException
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from mosaic_pipe.base.errors import SpecError, UserError
from mosaic_pipe.cli.hydra_errors import as_spec_error
from mosaic_pipe.cli.invocation import invocation
from mosaic_pipe.cli.launching import check_room, check_settings, launch, machine_slots
from mosaic_pipe.cli.live_sweep import LiveSweep
from mosaic_pipe.cli.notice import show_notice
from mosaic_pipe.cli.plan_text import budget_refusal, changes_refusal, describe_plan
from mosaic_pipe.cli.points import PointComposer
from mosaic_pipe.cli.specs import Call, spec_of, split_call
from mosaic_pipe.cli.sweep_name import sweep_name
from mosaic_pipe.cli.sweep_tables import print_summary, worst_exit_code
from mosaic_pipe.launch.preparation import Preparation
from mosaic_pipe.spec.identity import spec_hash
from mosaic_pipe.spec.schema import RunSpec
from mosaic_pipe.store.provenance import own_arguments
from mosaic_pipe.store.sweeps import Submission, Sweep, Sweeps
from mosaic_pipe.sweep.estimate import estimate
from mosaic_pipe.sweep.plan import Plan, make_plan
from mosaic_pipe.sweep.status import PointStatus

_REFUSALS_SHOWN = 5

Wanted = list[tuple[tuple[str, ...], RunSpec]]


@dataclass(frozen=True)
class Asked:
    """What a multirun asks for: how to call it, its points, and what was left out."""

    call: Call
    points: Wanted
    refused: dict[tuple[str, ...], UserError]


class SweepLauncher:
    """Runs what is missing of a sweep; behind ``hydra/launcher=local`` and ``slurm``."""

    def __init__(self, kind: str, settings: dict[str, Any]) -> None:
        """``settings``: of the launcher, from ``conf/hydra/launcher``."""
        self.kind = kind
        plain = OmegaConf.to_container(OmegaConf.create(settings))
        assert isinstance(plain, dict)
        self._settings = {str(key): value for key, value in plain.items()}

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """As Hydra wants it."""
        self._config = config
        self._composer = PointComposer(hydra_context.config_loader, config)

    def launch(self, job_overrides: Sequence[Sequence[str]]) -> Sequence[JobReturn]:
        """Run what is missing of these points.

        Returns:
            For each, the mean return of its run as Hydra's return value; None where there is none, or nobody waited.

        Raises:
            UserError: nothing was started.
        """
        asked = self.ask(job_overrides)
        found = {overrides: status for (overrides, _), status in zip(asked.points, self._run(asked), strict=True)}
        statuses = [found.get(tuple(one)) for one in job_overrides]
        known = [status for status in statuses if status]
        invocation.exit_codes.append(worst_exit_code(known, fail_fast=asked.call.fail_fast))
        return [
            JobReturn(overrides=list(one), status=JobStatus.COMPLETED, _return_value=_mean_return(status))
            for one, status in zip(job_overrides, statuses, strict=True)
        ]

    def ask(self, job_overrides: Sequence[Sequence[str]]) -> Asked:
        """What these overrides ask for; nothing is started.

        Raises:
            SpecError: some are refused, and the config does not say to leave them out; or the launcher's settings are.
        """
        if not job_overrides:
            raise SpecError("has no points: a range or a list is empty", where="sweep")
        call: Call | None = None
        points: Wanted = []
        refused: dict[tuple[str, ...], UserError] = {}
        checks = Preparation(show_notice)
        for overrides in map(tuple, job_overrides):
            try:
                composed = self._compose(overrides)
                its_call, config = split_call(composed.config)
                if its_call != (call := call or its_call):
                    raise SpecError("holds for a whole sweep", where=_first_difference(call, its_call))
                spec = spec_of(config, call, overrides, composed.choices, invocation.arguments)
                if spec.mode == "interactive":
                    raise SpecError("is no part of a sweep", where="mode=interactive")
                if points and spec.sweep != points[0][1].sweep:
                    raise SpecError("holds for a whole sweep", where="sweep")
                checks.check(spec)
                points.append((overrides, spec))
            except UserError as error:
                refused[overrides] = error
        if refused and not (call and call.skip_refused):
            raise _refusal(list(refused.items()), len(job_overrides))
        for overrides, reason in refused.items():
            show_notice(f"left out: {' '.join(_telling(overrides))}: {reason}")
        assert call is not None, "a sweep has points"
        check_settings(self.kind, self._all_settings(call))
        return Asked(call, points, refused)

    def run_batch(self, live: LiveSweep, asked: Asked) -> None:
        """Run what is missing of these points, which are a part of a sweep, and wait for the end.

        Raises:
            UserError: nothing was started.
        """
        told = [(_telling(overrides), spec) for overrides, spec in asked.points]
        plan = make_plan(told, live.look())
        if refusal := changes_refusal(live.sweep.name, plan):
            raise refusal
        self.prepare(plan)
        self._launch(live.sweep, plan, msgspec.structs.replace(asked.call, detach=False), quiet=True)

    def enlist(self, sweep: Sweep, call: Call) -> str:
        """Put on record that this command works on ``sweep``, before any batch; returns the record's name."""
        return sweep.submit(self._submission(sweep, make_plan([], []), call))

    def prepare(self, plan: Plan) -> None:
        """See to the environments of what is missing, and to room for each.

        Raises:
            UserError: one cannot be made, or this machine will never have room.
        """
        preparation = Preparation(show_notice)
        prepared = [preparation.prepare(spec) for _, _, spec in plan.missing]
        if self.kind == "local":
            check_room(prepared)

    def slots(self, plan: Plan) -> int | None:
        """How many cores the points of ``plan`` will use at once; None: the scheduler decides."""
        return machine_slots(self.kind, self._settings, plan)

    def _run(self, asked: Asked) -> list[PointStatus | None]:
        call, wanted = asked.call, asked.points
        if not wanted:
            return []
        output_dir = Path(call.output_dir)
        sweeps, name = Sweeps(output_dir), sweep_name(self._config, wanted[0][1].sweep)
        live = LiveSweep(sweeps.find(name), call.runs) if name in sweeps.names() else None
        plan = make_plan([(_telling(overrides), spec) for overrides, spec in wanted], live.look() if live else [])
        cost = estimate(((spec, _steps_left(plan, digest, spec)) for _, digest, spec in plan.missing), call.runs)
        print(describe_plan(name, plan, cost, self.slots(plan)), file=sys.stdout if call.dry_run else sys.stderr)
        refusal = changes_refusal(name, plan) if not call.replan else None
        if refusal := refusal or budget_refusal(cost, call.budget):
            raise refusal
        if call.dry_run:
            return [None] * len(wanted)
        self.prepare(plan)  # before anything is on record: an environment may fail to be made
        sweep = sweeps.open(name)
        self._launch(sweep, plan, call)
        live = live or LiveSweep(sweep, call.runs)
        by_hash = {one.point.spec_hash: one for one in live.look()}
        print_summary(sweep, [by_hash[digest] for _, digest, _ in plan.asked], output_dir)
        return [by_hash[spec_hash(spec)] for _, spec in wanted]

    def _launch(self, sweep: Sweep, plan: Plan, call: Call, *, quiet: bool = False) -> None:
        submission = self._submission(sweep, plan, call)
        name = sweep.submit(submission)
        if submission.todo:
            launch(sweep, name, Path(call.output_dir), quiet=quiet)

    def _compose(self, overrides: tuple[str, ...]) -> Any:
        try:
            return self._composer.compose(overrides)
        except (HydraException, OmegaConfBaseException) as error:
            raise as_spec_error(error) from error

    def _all_settings(self, call: Call) -> dict[str, Any]:
        return {**self._settings, "fail_fast": call.fail_fast, "detach": call.detach}

    def _submission(self, sweep: Sweep, plan: Plan, call: Call) -> Submission:
        return Submission(
            submitted=time.time(),
            argv=own_arguments(),
            launcher=self.kind,
            settings=self._all_settings(call),
            points=[sweep.point(overrides, spec) for overrides, digest, spec in plan.asked if digest not in plan.known],
            replaced=[change.spec_hash for change in plan.changes],
            todo=[digest for _, digest, _ in plan.missing],
        )


def _telling(overrides: tuple[str, ...]) -> tuple[str, ...]:
    """Those that say what a point is, and not how to call it."""
    return tuple(
        one for one in overrides if one.lstrip("+").partition("=")[0] not in (*Call.__struct_fields__, "sweep")
    )


def _steps_left(plan: Plan, digest: str, spec: RunSpec) -> int:
    known = plan.known.get(digest)
    saved = known.manifest.checkpoints if known and known.manifest else []
    return spec.total_timesteps - (saved[-1].env_steps if saved else 0)


def _mean_return(status: PointStatus | None) -> float | None:
    return status.manifest.summary.mean_return if status and status.manifest else None


def _first_difference(call: Call, other: Call) -> str:
    return next(key for key in Call.__struct_fields__ if getattr(call, key) != getattr(other, key))


def _refusal(refused: Sequence[tuple[tuple[str, ...], UserError]], points: int) -> UserError:
    """One error for all; where all points have the same, that one alone."""
    reasons = list(dict.fromkeys(str(error) for _, error in refused))
    if len(reasons) == 1 and len(refused) == points:
        return refused[0][1]
    shown = [f"{' '.join(overrides)}: {error}" for overrides, error in refused[:_REFUSALS_SHOWN]]
    more = [f"… and {len(refused) - len(shown)} more"] if len(refused) > len(shown) else []
    hint = "nothing was started; skip_refused=true leaves them out"
    return SpecError("\n  ".join([f"{len(refused)} of {points} points are refused:", *shown, *more]), hint=hint)
