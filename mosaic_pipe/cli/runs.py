"""``mosaic-pipe runs``: ls, show, tail, cancel, rm."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from mosaic_pipe.cli import run_actions, run_tables
from mosaic_pipe.cli.own import with_output_dir
from mosaic_pipe.store.runs import Runs
from mosaic_pipe.store.states import State


def main(arguments: Sequence[str]) -> int:
    """Run the subcommand in ``arguments``; returns the exit code.

    Raises:
        UserError: no such run, or it cannot be done to it.
    """
    options = _parser().parse_args(arguments)
    command: Callable[[Runs, argparse.Namespace], int] = options.command
    return command(Runs(options.output_dir), options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mosaic-pipe runs", description="Look at runs, stop them, delete them.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    common = with_output_dir()
    common.add_argument("--json", action="store_true", help="print JSON")

    def add(name: str, command: Callable[[Runs, argparse.Namespace], int], help: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, parents=[common], help=help, description=help)
        added.set_defaults(command=command)
        return added

    listing = add("ls", run_tables.list_runs, "List runs, newest last.")
    listing.add_argument("--state", type=str.upper, choices=[state.value for state in State])
    for name in ("worker", "algo", "env", "sweep"):
        listing.add_argument(f"--{name}", help=f"only runs of this {name}")
    _of_run(add("show", run_tables.show_run, "Show one run; --json prints its manifest."))
    tail = add("tail", run_actions.tail_run, "Follow a run's events (with --log: its log) until it ends.")
    _of_run(tail)
    what = tail.add_mutually_exclusive_group()
    what.add_argument("--log", action="store_true", help="what the worker printed, instead of its events")
    what.add_argument("--frames", action="store_true", help="what its environments show, in this terminal")
    tail.add_argument("-n", "--lines", type=int, default=10, help="lines from before now (default: 10)")
    _of_run(add("cancel", run_actions.cancel_run, "Stop a run with a checkpoint."))
    remove = add("rm", run_actions.remove_run, "Delete a run that has ended.")
    _of_run(remove)
    return parser


def _of_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="id, unique prefix of one, or last")
