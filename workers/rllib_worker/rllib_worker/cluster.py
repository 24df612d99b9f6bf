"""Ray: one of the run's own on this machine, or a cluster that is there.

Everything of the run's own Ray ends with the attempt: its processes carry the attempt's token, by which the supervisor
finds them, and its files lie in the attempt's scratch directory.
"""

import os
import secrets
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mosaic_worker.errors import UserError
from mosaic_worker.protocol import ENV_SCRATCH

from rllib_worker.config import RllibConfig

_OBJECT_STORE = 200 << 20
"""Bytes in /dev/shm; what does not fit goes to disk."""


_PATIENCE = 10.0
"""Seconds that a cluster has to answer."""


class Cluster:
    """A Ray that this process is the driver of."""

    def __init__(self, config: RllibConfig) -> None:
        """Start Ray, or connect to it.

        Raises:
            UserError: there is no cluster at ``worker.ray.address``.
        """
        if "ray" in sys.modules:
            raise RuntimeError("Ray was imported before its environment was set")
        address = config.spec.worker.ray.address
        if address:
            _refuse_silent(address)
        given = os.environ.get(ENV_SCRATCH)
        self.directory = Path(given or tempfile.mkdtemp(prefix="mosaic-"))
        """For files that end with the run."""
        self._is_ours = not given
        os.environ.update(_EVERYWHERE)
        os.environ.update({} if address else _on_this_machine(self.directory))
        import ray

        self._ray = ray
        chosen = {"address": address} if address else _own(config, self.directory)
        self._starter = _Starter(lambda: ray.init(**chosen, log_to_driver=False, logging_level="ERROR"))
        self._starter.start()
        self._starter.wait()

    def close(self) -> None:
        """Let go of Ray; of the run's own, nothing is left."""
        self._ray.shutdown()
        self._starter.end()
        if self._is_ours:
            shutil.rmtree(self.directory, ignore_errors=True)


_EVERYWHERE = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_AUTO_CONNECT": "0",  # nothing but this module starts a Ray
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


def _on_this_machine(directory: Path) -> dict[str, str]:
    token = directory / "token"
    token.touch(mode=0o600)
    token.write_text(secrets.token_hex(32), encoding="ascii")
    return {
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # it listens on the loopback interface only
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(token),
        "RAY_worker_niceness": "0",
    }


def _own(config: RllibConfig, directory: Path) -> dict[str, Any]:
    layout = config.layout
    return {
        "address": "local",
        "num_cpus": layout.env_runners + max(layout.learners, 1),
        "num_gpus": config.spec.resources.gpus,
        "include_dashboard": False,
        "object_store_memory": _OBJECT_STORE,
        "_temp_dir": str(directory / "ray"),  # Ray lets everybody write into it; nobody else gets into ours
    }


def _refuse_silent(address: str) -> None:
    """Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise UserError(f"worker.ray.address: {address!r} is not host:port")
    try:
        socket.create_connection((host, int(port)), timeout=_PATIENCE).close()
    except OSError as error:
        raise UserError(f"worker.ray.address: nobody answers at {address}: {error.strerror or error}") from error


class _Starter(threading.Thread):
    """The thread that starts Ray.

    In the main thread Ray would take SIGTERM for itself, and the session has it. The thread lives as long as Ray does:
    the kernel kills Ray's processes when the thread that started them ends.
    """

    def __init__(self, start: Callable[[], Any]) -> None:
        super().__init__(name="ray", daemon=True)
        self._start_ray = start
        self._there, self._over = threading.Event(), threading.Event()
        self._error: BaseException | None = None

    def run(self) -> None:
        """Start Ray, and wait for the end."""
        try:
            self._start_ray()
        except BaseException as error:
            self._error = error
        self._there.set()
        self._over.wait()

    def wait(self) -> None:
        """Wait until Ray is there."""
        self._there.wait()
        if self._error:
            raise self._error

    def end(self) -> None:
        """Ray has been shut down."""
        self._over.set()
        self.join()
