"""``mosaic-pipe sweep``: ls, status, retry, cancel, watch."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from mosaic_pipe.cli import sweep_actions, sweep_tables
from mosaic_pipe.cli.own import with_output_dir


def main(arguments: Sequence[str]) -> int:
    """Run the subcommand in ``arguments``; returns the exit code.

    Raises:
        UserError: no such sweep, or it cannot be done to it.
    """
    options = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = options.command
    return command(options)


def _parser() -> argparse.ArgumentParser:
    description = "Look at sweeps, try failed points again, stop them. A multirun (-m) makes one."
    parser = argparse.ArgumentParser(prog="mosaic-pipe sweep", description=description)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    common = with_output_dir()

    def add(name: str, command: Callable[[argparse.Namespace], int], help: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, parents=[common], help=help, description=help)
        added.set_defaults(command=command)
        if name != "ls":
            added.add_argument("name", metavar="NAME", help="the sweep's name")
        return added

    listing = add("ls", sweep_tables.list_sweeps, "List sweeps.")
    listing.add_argument("--json", action="store_true", help="print JSON")
    status = add("status", sweep_tables.show_sweep, "Show a sweep: its cells, and points that have not completed.")
    status.add_argument("--json", action="store_true", help="print JSON: every point")
    retry = add("retry", sweep_actions.retry_sweep, "Run points again that did not complete, from their checkpoints.")
    retry.add_argument("--failed", nargs="?", const="", metavar="CLASS", help="failed ones only; of this class only")
    retry.add_argument("--lost", action="store_true", help="also runs of other machines that are silent for 10 minutes")
    retry.add_argument("--detach", action="store_true", default=None, help="leave it running without this terminal")
    add(
        "cancel", sweep_actions.cancel_sweep, "Stop a sweep's runs with checkpoints, and take the others off the queue."
    )
    add("watch", sweep_actions.watch_sweep, "Watch a sweep until nothing of it runs or waits.")
    work = commands.add_parser("work", parents=[common])  # what a detached sweep runs; not in the help
    work.set_defaults(command=sweep_actions.work_on_sweep)
    work.add_argument("name")
    work.add_argument("submission")
    return parser
