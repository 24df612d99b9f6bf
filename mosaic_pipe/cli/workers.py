"""``mosaic-pipe workers``: ls, install, remove, doctor."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mosaic_pipe.base.errors import Exit, UserError
from mosaic_pipe.base.suggest import did_you_mean
from mosaic_pipe.cli.notice import show_notice
from mosaic_pipe.cli.tables import print_json, print_table
from mosaic_pipe.workers import environment as env
from mosaic_pipe.workers import uv
from mosaic_pipe.workers.capabilities import known_extras
from mosaic_pipe.workers.pip_config import pip_settings, uv_environment
from mosaic_pipe.workers.recipe import Recipe, environments_dir
from mosaic_pipe.workers.registry import Worker, all_workers, broken_workers, find_worker


def main(arguments: Sequence[str]) -> int:
    """Run the subcommand in ``arguments``; returns the exit code.

    Raises:
        UserError: no such worker, or its environment cannot be made.
    """
    options = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = options.command
    return command(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mosaic-pipe workers", description="Workers and their virtualenvs.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, command: Callable[[argparse.Namespace], int], help: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=help, description=help)
        added.add_argument("--json", action="store_true", help="print JSON")
        added.set_defaults(command=command)
        return added

    add("ls", _list, "List workers and whether their virtualenvs exist.")
    install = add("install", _install, "Make a worker's virtualenv now instead of at its first run.")
    install.add_argument("worker", metavar="NAME")
    install.add_argument(
        "--torch-backend",
        metavar="BACKEND",
        help="which builds of torch: cpu, cu130, auto, …, as uv names them (default: as pip is configured, else auto)",
    )
    install.add_argument("--extra", action="append", default=[], metavar="EXTRA", help="with an extra of its package")
    add("show", _show, "What a worker can run: algorithms, spaces, extras, sources.").add_argument(
        "worker", metavar="NAME"
    )
    add("remove", _remove, "Delete a worker's virtualenvs.").add_argument("worker", metavar="NAME")
    add("doctor", _doctor, "Check what workers need, and each virtualenv by asking its worker to describe itself.")
    return parser


def _list(options: argparse.Namespace) -> int:
    rows = [_row(worker) for worker in all_workers().values()]
    if options.json:
        print(json.dumps(rows, indent=2))
        return Exit.OK
    cells = (
        [
            row["worker"],
            row["library"],
            "installed" if row["installed"] else "at first use",
            " ".join(row["algorithms"]),
        ]
        for row in rows
    )
    print_table(("worker", "library", "environment", "algorithms"), cells)
    return Exit.OK


def _install(options: argparse.Namespace) -> int:
    worker = find_worker(options.worker)
    for extra in set(options.extra) - (known := known_extras(worker.capabilities)):
        raise UserError(f"{worker.name} has no extra {extra!r}", where="--extra", hint=did_you_mean(extra, known))
    recipe = Recipe(worker, tuple(sorted(set(options.extra))))
    if options.torch_backend and env.find_environment(recipe):
        hint = f"remove it first: mosaic-pipe workers remove {worker.name}"
        raise UserError("is installed already, and its torch stays as it is", where=f"worker {worker.name}", hint=hint)
    made = env.ensure_environment(recipe, show_notice, options.torch_backend)
    return _say(options, {"worker": worker.name, "python": str(made.python)}, f"ready: {made.python}")


def _show(options: argparse.Namespace) -> int:
    worker = find_worker(options.worker)
    rows = [
        [
            name,
            " ".join(algorithm.action_spaces),
            " ".join(algorithm.observation_spaces),
            " ".join(algorithm.extras) or "-",
            " ".join(algorithm.sources),
            algorithm.unavailable or algorithm.verified or "",
        ]
        for name, algorithm in worker.capabilities.algorithms.items()
    ]
    if options.json:
        print_json(worker.capabilities)
    else:
        print_table(("algorithm", "actions", "observations", "extras", "source", "runs here"), rows)
    return Exit.OK


def _remove(options: argparse.Namespace) -> int:
    worker = find_worker(options.worker)
    removed = [str(path) for path in env.remove_environments(worker)]
    text = "\n".join(f"removed {path}" for path in removed) or f"{worker.name} has no virtualenv"
    return _say(options, {"worker": worker.name, "removed": removed}, text)


def _doctor(options: argparse.Namespace) -> int:
    checks = [("uv", uv.version() or "not found", bool(uv.version()))]
    checks.append(("pip's settings passed on", ", ".join(sorted(uv_environment(pip_settings()))) or "none", True))
    checks.append(("virtualenvs are kept in", str(environments_dir()), True))
    checks += [check for worker in all_workers().values() for check in _checks(worker)]
    checks += [(f"worker {name}", str(error), False) for name, error in broken_workers().items()]
    sound = all(good for _, _, good in checks)
    facts = [{"check": name, "found": found, "good": good} for name, found, good in checks]
    text = "\n".join(f"{'ok ' if good else 'BAD'}  {name}: {found}" for name, found, good in checks)
    _say(options, facts, text)
    return Exit.OK if sound else Exit.ENVIRONMENT


def _checks(worker: Worker) -> Iterator[tuple[str, str, bool]]:
    """One for each virtualenv of ``worker``."""
    name = f"worker {worker.name}"
    paths = env.installed(worker.name)
    if not paths:
        yield name, "no virtualenv yet; it is made at the first run", True
    for path in paths:
        try:
            yield name, f"{env.check_environment(worker, path)}, describes itself: {path}", True
        except UserError as error:
            yield name, f"{error}; mosaic-pipe workers remove {worker.name}, then install it again", False


def _row(worker: Worker) -> dict[str, Any]:
    capabilities = worker.capabilities
    return {
        "worker": worker.name,
        "library": f"{capabilities.upstream_library} {capabilities.upstream_version}",
        "algorithms": sorted(capabilities.algorithms),
        "installed": env.find_environment(Recipe(worker)) is not None,
        "path": str(Recipe(worker).path),
    }


def _say(options: argparse.Namespace, facts: Any, text: str) -> int:
    print(json.dumps(facts, indent=2) if options.json else text)
    return Exit.OK
