"""How long 500 points of a sweep take from overrides to specs and hashes, against Hydra's own multirun.

Hydra composes each point twice: its sweeper to see that all of them can be composed, its launcher to run them. The
times leave out Python's and Hydra's start, which both have.

    .venv/bin/python scripts/bench/planning.py          50 of Hydra's points, extrapolated
    .venv/bin/python scripts/bench/planning.py --all    all of them
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from hydra import initialize_config_dir
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.config_loader import ConfigLoader
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.types import RunMode
from omegaconf import DictConfig

from mosaic_pipe.base.bundled import bundled
from mosaic_pipe.cli.points import ComposedPoint, PointComposer
from mosaic_pipe.cli.specs import split_call
from mosaic_pipe.spec.compose import compose_spec
from mosaic_pipe.spec.identity import spec_hash
from mosaic_pipe.spec.schema import RunSpec

SWEEP = [
    "worker=cleanrl",
    "algo=ppo,dqn",
    "env=cartpole,acrobot",
    "algo.learning_rate=1e-4,2.5e-4,5e-4,1e-3,2e-3",
    "seed=range(0,25)",
]
SAMPLE = 50

T = TypeVar("T")


def the_points() -> list[list[str]]:
    """The overrides of each point, in Hydra's order."""
    (points,) = BasicSweeper.split_arguments(OverridesParser.create().parse_overrides(SWEEP), None)
    return points


def hydras_way(loader: ConfigLoader, master: DictConfig, points: list[list[str]]) -> None:
    for _sweeper_then_launcher in range(2):
        for point in points:
            loader.load_sweep_config(master, point)


def spec_of(point: ComposedPoint) -> RunSpec:
    _, config = split_call(point.config)
    return compose_spec(config)


def timed(what: Callable[[], T]) -> tuple[float, T]:
    begun = time.perf_counter()
    result = what()
    return time.perf_counter() - begun, result


def main(arguments: Iterable[str]) -> None:
    points = the_points()
    sample = points if "--all" in arguments else points[:: len(points) // SAMPLE]
    with initialize_config_dir(str(bundled("conf")), version_base="1.3"):
        hydra = GlobalHydra.instance().hydra
        assert hydra
        master = hydra.compose_config("config", SWEEP, RunMode.MULTIRUN)
        composer = PointComposer(hydra.config_loader, master)
        composing, composed = timed(lambda: [composer.compose(point) for point in points])
        specs_take, specs = timed(lambda: [spec_of(point) for point in composed])
        hashes_take, hashes = timed(lambda: {spec_hash(spec) for spec in specs})
        sampled, _ = timed(lambda: hydras_way(hydra.config_loader, master, sample))
    assert len(hashes) == len(points)
    ours, hydras = composing + specs_take + hashes_take, sampled * len(points) / len(sample)
    print(f"{len(points)} points: configs {composing:.2f} s, specs {specs_take:.2f} s, hashes {hashes_take:.2f} s")
    print(f"ours, all of it    {ours:8.2f} s")
    measured = "measured" if len(sample) == len(points) else f"extrapolated from {len(sample)} points"
    print(f"Hydra, the configs {hydras:8.2f} s ({measured})")
    print(f"ratio              {hydras / ours:8.1f}")


if __name__ == "__main__":
    main(sys.argv[1:])
