"""The ``mosaic-pipe`` command: its own subcommands, such as ``runs`` and ``view``; everything else is Hydra's."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable

from mosaic_pipe.base.errors import Exit, UserError

_FAULTS_OF_THE_MACHINE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.ENOSPC, errno.EDQUOT)


def main() -> None:
    """Run the command line and exit with its code (``Exit``)."""
    arguments = sys.argv[1:]
    try:
        code = _command(arguments)()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        code = error.exit_code
    except BrokenPipeError:  # the reader of our output, head or less, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = Exit.OK
    except OSError as error:
        if error.errno not in _FAULTS_OF_THE_MACHINE:
            raise
        print(f"error: {error.filename or 'output'}: {error.strerror}", file=sys.stderr)
        code = Exit.DISK_FULL if error.errno in (errno.ENOSPC, errno.EDQUOT) else Exit.BAD_INPUT
    except KeyboardInterrupt:
        code = Exit.CANCELLED
    sys.exit(code)


def _command(arguments: list[str]) -> Callable[[], int]:
    """What ``arguments`` ask for; imported only then, since starting quickly matters."""
    name = arguments[0] if arguments else "--help"
    if name == "runs":
        from mosaic_pipe.cli import runs

        return lambda: runs.main(arguments[1:])
    if name == "sweep":
        from mosaic_pipe.cli import sweeps

        return lambda: sweeps.main(arguments[1:])
    if name == "workers":
        from mosaic_pipe.cli import workers

        return lambda: workers.main(arguments[1:])
    if name == "view":
        from mosaic_pipe.cli import view

        return lambda: view.main(arguments[1:])
    if name == "record":
        from mosaic_pipe.cli import record

        return lambda: record.main(arguments[1:])
    if name == "--version":
        return _version
    from mosaic_pipe.cli import run

    if name == "plan":
        return lambda: run.main(["--multirun", "--dry-run", *arguments[1:]])
    return lambda: run.main(arguments or ["--help"])


def _version() -> int:
    from mosaic_pipe import __version__

    print(f"mosaic-pipe {__version__}")
    return Exit.OK


if __name__ == "__main__":
    main()
