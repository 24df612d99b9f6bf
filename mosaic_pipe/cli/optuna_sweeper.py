"""``hydra/sweeper=optuna``: overrides that say what may vary, and a study that finds out where it is best."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_type_hints

import msgspec
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf

from mosaic_pipe.base.errors import SpecError, UserError
from mosaic_pipe.cli.invocation import invocation
from mosaic_pipe.cli.multirun import Asked, SweepLauncher
from mosaic_pipe.cli.notice import show_notice
from mosaic_pipe.cli.plan_text import budget_refusal, describe_cost
from mosaic_pipe.cli.search_space import search_space, some_values, space_differences, space_overrides
from mosaic_pipe.cli.specs import Call
from mosaic_pipe.cli.sweep_name import sweep_name
from mosaic_pipe.store.studies import Definition, Direction, Space, StudyDir
from mosaic_pipe.store.sweeps import Sweeps
from mosaic_pipe.sweep.estimate import estimate
from mosaic_pipe.sweep.metric import check_metric
from mosaic_pipe.sweep.plan import Plan, differences, make_plan

if TYPE_CHECKING:
    from mosaic_pipe.sweep.study import Counts

WHERE = "hydra.sweeper"
_GOAL = ("metric", "direction")
_SHOWN = 5
Positive = Annotated[int, msgspec.Meta(ge=1)]


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``conf/hydra/sweeper/optuna.yaml``, which explains them."""

    n_trials: Positive
    n_jobs: Positive
    direction: Direction
    metric: str
    sampler: Literal["tpe", "random"]
    seed: int | None
    pruner: Literal["median", "halving"] | None
    report_interval: Positive
    params: dict[str, Any] | None


class OptunaSweeper:
    """Makes a study of a multirun, or goes on with one."""

    def __init__(self, settings: dict[str, Any]) -> None:
        """``settings``: of the sweeper, from ``conf/hydra/sweeper``."""
        self._given = OmegaConf.to_container(OmegaConf.create(settings))

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """As Hydra wants it."""
        self._loader, self._config = hydra_context.config_loader, config
        launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )
        self._launcher: SweepLauncher | None = getattr(launcher, "ours", None)

    def sweep(self, arguments: list[str]) -> None:
        """Run trials until there are as many as are wanted.

        Raises:
            UserError: nothing was started.
        """
        settings, launcher = self._settings(), self._our_launcher()
        texts = [*(f"{key}={values}" for key, values in (settings.params or {}).items()), *arguments]
        overrides = OverridesParser.create(config_loader=self._loader).parse_overrides(texts)
        space, constants = search_space(overrides)
        if whole := next((key for key in space if key in (*Call.__struct_fields__, "sweep")), None):
            raise SpecError("holds for a whole sweep", where=whole)
        try:
            asked = launcher.ask([[*constants, *space_overrides(space, some_values(space))]])
        except SpecError as error:
            raise _hinted(error, space) from error
        if not asked.points:
            raise _hinted(next(iter(asked.refused.values())), space)
        if asked.call.detach:
            hint = "leave it out; to keep the study going without a terminal: nohup, tmux or screen"
            raise SpecError("an optimiser waits for results", where="detach", hint=hint)
        self._optimize(launcher, settings, space, constants, asked)

    def _optimize(
        self, launcher: SweepLauncher, settings: Settings, space: Space, constants: list[str], asked: Asked
    ) -> None:
        from mosaic_pipe.cli.optimizing import Optimization
        from mosaic_pipe.sweep.study import counts_of

        call, reference = asked.call, asked.points[0][1]
        name, sweeps = sweep_name(self._config, reference.sweep), Sweeps(Path(call.output_dir))
        found = StudyDir(sweeps.directory / name)
        definition = Definition(metric=settings.metric, direction=settings.direction, space=space, reference=reference)
        _check_same(found.definition() or definition, definition, name)
        counts, plan = counts_of(found.log_file), make_plan(asked.points, [])
        left = max(0, settings.n_trials - counts.done)
        cost = estimate(((reference, reference.total_timesteps) for _ in range(left)), call.runs)
        lines = _described(name, definition, settings, counts)
        if left:
            lines.append(f"  to run: {left}, expected {describe_cost(cost, self._slots(launcher, settings, plan))}")
        (print if call.dry_run else show_notice)("\n".join(lines))
        if refusal := budget_refusal(cost, call.budget):
            raise refusal
        if call.dry_run:
            return
        launcher.prepare(plan)  # before anything is on record: an environment may fail to be made
        sweep = sweeps.open(name)
        _check_same(found.define(definition), definition, name)
        invocation.exit_codes.append(Optimization(launcher, sweep, definition, settings, constants, call).run())

    def _settings(self) -> Settings:
        try:
            settings = msgspec.convert(self._given, Settings)
        except msgspec.ValidationError as error:
            message, _, key = str(error).partition(" - at `$.")
            where = f"{WHERE}.{key.rstrip('`')}" if key else WHERE
            raise SpecError(f"{message[:1].lower()}{message[1:]}", where=where, hint=_valid(key.rstrip("`"))) from error
        check_metric(settings.metric, f"{WHERE}.metric")
        if importlib.util.find_spec("optuna") is None:
            hint = "pip install 'mosaic-pipe[optuna]'"
            raise SpecError("Optuna is not installed", where="hydra/sweeper=optuna", hint=hint)
        return settings

    def _our_launcher(self) -> SweepLauncher:
        if self._launcher is None:
            raise SpecError("hydra/sweeper=optuna needs local or slurm", where="hydra/launcher")
        return self._launcher

    def _slots(self, launcher: SweepLauncher, settings: Settings, plan: Plan) -> int | None:
        slots = launcher.slots(plan)
        return slots if slots is None else min(slots, settings.n_jobs * plan.missing[0][2].resources.cpus)


def _valid(key: str) -> str:
    """The words that a setting may be, if it is one of a few."""
    given = get_type_hints(Settings).get(key)
    words = [word for kind in (given, *get_args(given)) for word in get_args(kind) if isinstance(word, str)]
    return f"valid: {', '.join(words)}" if words else ""


def _hinted(error: UserError, space: Space) -> UserError:
    """``error``, which one point of ``space`` makes, with the way out where it is known."""
    for key, axis in space.items():
        is_key = error.where.split(" ")[0] == key.lstrip("+")
        if is_key and "`int`" in error.what and not (axis.choices or axis.whole):
            error.hint = f"for whole numbers: {key}=int(interval({axis.low:g},{axis.high:g}))"
    return error


def _check_same(old: Definition, new: Definition, name: str) -> None:
    """Refuse to go on with a study that is about something else.

    Raises:
        SpecError: it is.
    """
    goals = (
        f"{key}: {getattr(old, key)}, now {getattr(new, key)}"
        for key in _GOAL
        if getattr(old, key) != getattr(new, key)
    )
    changed = [*goals, *space_differences(old.space, new.space)] or list(differences(old.reference, new.reference))
    if changed:
        more = [f"… and {len(changed) - _SHOWN} more"] if len(changed) > _SHOWN else []
        lines = ["the study that it has is about something else:", *changed[:_SHOWN], *more]
        hint = "results of both cannot be compared; sweep=NAME begins another study"
        raise SpecError("\n  ".join(lines), where=f"sweep {name}", hint=hint)


def _described(name: str, definition: Definition, settings: Settings, counts: Counts) -> list[str]:
    """What is optimised, over what, and how far it is."""
    has = f"{counts.done} of {settings.n_trials} trials done"
    has += f", {counts.failed} failed" if counts.failed else ""
    has += f", {counts.open} to be taken up" if counts.open else ""
    pruner = f", pruner {settings.pruner}" if settings.pruner else ""
    how = f"{definition.direction} {definition.metric} ({settings.sampler}{pruner}, {settings.n_jobs} at a time)"
    return [f"sweep {name}: {how}: {has}", *(f"  {key}: {axis}" for key, axis in definition.space.items())]
