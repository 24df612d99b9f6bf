"""A process that imports the library once, and forks into one worker after another.

Importing torch and its friends takes longer than many a run trains. For a sweep the launcher starts
``python -m <worker>.cli --fork-server FD`` once: it imports what the worker's capabilities list under ``preload`` and
writes a line to the socket at ``FD``. Each line that comes back is a request for a worker, as JSON: ``arguments`` (its
command line), ``variables`` (its whole environment), ``folder``, ``events`` and ``log`` (files to append to), and
``cores``. The answer is a line with its process id, once it is on its way.

The worker is a child of the launcher, as if that had started it: it is forked twice, and the launcher is a subreaper
(prctl(2), PR_SET_CHILD_SUBREAPER), so that the launcher can wait for it, and the end of this process is nobody's loss.
"""

import ctypes
import gc
import importlib
import json
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any, Dict, List, Sequence

from mosaic_worker.errors import UserError
from mosaic_worker.protocol import ENV_TOKEN

_PR_SET_PDEATHSIG = 1


def serve(descriptor: int, preload: Sequence[str]) -> List[str]:
    """Import ``preload`` and answer requests until the launcher closes its end; returns in the workers only.

    Returns:
        The arguments of the worker that this process is from now on.

    Raises:
        UserError: an import started threads, which a fork would lose.
    """
    launcher = os.getppid()
    for module in preload:
        importlib.import_module(module)
    if len(list(Path("/proc/self/task").iterdir())) > 1:
        raise UserError(f"importing {', '.join(preload)} starts threads: such a process cannot be forked")
    gc.collect()
    gc.freeze()  # pages that no collection touches stay shared
    with socket.socket(fileno=descriptor) as connection, connection.makefile("rb") as requests:
        connection.sendall(b"\n")
        for request in requests:
            middle = os.fork()
            if middle == 0:
                middle = os.getpid()
                worker = os.fork()
                if worker:
                    connection.sendall(b"%d" % worker)
                    os._exit(0)
                arguments = _become(json.loads(request), middle, launcher)
                connection.sendall(b"\n")
                return arguments
            os.waitpid(middle, 0)
    sys.exit(0)


def _become(request: Dict[str, Any], middle: int, launcher: int) -> List[str]:
    """Be the worker of ``request``: a child of the launcher, once the process between them has ended."""
    os.setsid()
    while os.getppid() == middle:
        time.sleep(0.0002)
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != launcher:  # it died before prctl took effect
        os._exit(1)
    _show_token(libc, request["variables"][ENV_TOKEN])
    os.environ.clear()
    os.environ.update(request["variables"])
    if request["cores"]:
        os.sched_setaffinity(0, request["cores"])
    for descriptor, name in ((1, request["events"]), (2, request["log"])):
        file = os.open(name, os.O_WRONLY | os.O_APPEND)
        os.dup2(file, descriptor)
        os.close(file)
    os.chdir(request["folder"])
    sys.path[0] = request["folder"]  # where python -m puts the current directory
    if "numpy" in sys.modules:  # or its global generator would be the same in all forks
        sys.modules["numpy"].random.seed()
    arguments: List[str] = request["arguments"]
    sys.argv[1:] = arguments
    return arguments


def _show_token(libc: Any, token: str) -> None:
    """Put the attempt's token where /proc/PID/environ shows it: the memory that this program was started with."""
    libc.getenv.restype = ctypes.c_void_p
    ctypes.memmove(libc.getenv(ENV_TOKEN.encode()), token.encode(), len(token))
