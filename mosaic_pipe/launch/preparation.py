"""From a spec to what can be started: checked against its worker, with the worker's environment made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mosaic_pipe.spec.schema import RunSpec
from mosaic_pipe.workers.environment import Environment, ensure_environment, user_environment, with_checkout
from mosaic_pipe.workers.fit import check_capabilities, check_native
from mosaic_pipe.workers.recipe import Recipe, checkout_of, recipe_for
from mosaic_pipe.workers.registry import Worker, find_worker


@dataclass(frozen=True)
class Prepared:
    """A spec that was checked against its worker, and the interpreter to run it in."""

    spec: RunSpec
    worker: Worker
    environment: Environment

    @property
    def memory_mb(self) -> int:
        """MiB of memory that a run is given room for."""
        return self.spec.resources.memory_mb or self.worker.capabilities.estimated_memory_mb


class Preparation:
    """Prepares specs, each environment once."""

    def __init__(self, say: Callable[[str], None]) -> None:
        """``say`` is told what takes time."""
        self._say = say
        self._workers: dict[str, Worker] = {}
        self._environments: dict[tuple[object, ...], Environment] = {}

    def check(self, spec: RunSpec) -> Worker:
        """The worker of ``spec``, which can do what it asks for.

        Raises:
            SpecError: it cannot.
        """
        worker = self._workers.get(spec.worker.name) or find_worker(spec.worker.name)
        self._workers[spec.worker.name] = worker
        check_capabilities(spec, worker.capabilities)
        return worker

    def prepare(self, spec: RunSpec) -> Prepared:
        """Check ``spec`` against its worker, and see to the worker's environment; no run exists yet.

        Raises:
            UserError: the worker rules it out, or its environment cannot be made.
        """
        worker = self.check(spec)
        recipe, python, checkout = recipe_for(spec, worker), spec.worker.python, checkout_of(spec)
        wanted = (worker.name, recipe.extras, recipe.library, python, checkout)
        environment = self._environments.get(wanted) or self._make(recipe, python, checkout)
        self._environments[wanted] = environment
        check_native(spec, environment.description)
        return Prepared(spec, worker, environment)

    def _make(self, recipe: Recipe, python: str | None, checkout: Path | None) -> Environment:
        environment = user_environment(recipe.worker, python) if python else ensure_environment(recipe, self._say)
        return with_checkout(environment, recipe.worker, checkout) if checkout else environment
