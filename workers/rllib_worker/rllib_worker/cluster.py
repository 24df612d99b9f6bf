"""Ray: one of the run's own, on this machine or on the nodes of a Slurm job, or a cluster that is there.

Everything of the run's own Ray ends with the attempt: its processes carry the attempt's token, by which the supervisor
finds them, and its files lie in the attempt's scratch directory. Of a cluster that is there nothing ends but this job.
"""

import os
import secrets
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from mosaic_worker.errors import UserError
from mosaic_worker.protocol import ENV_SCRATCH

from rllib_worker.config import RllibConfig
from rllib_worker.nodes import OBJECT_STORE, OtherNodes, own_address

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
        address, nodes = config.spec.worker.ray.address, config.spec.resources.nodes
        given = os.environ.get(ENV_SCRATCH)
        self.directory = Path(given or tempfile.mkdtemp(prefix="mosaic-"))
        """For files that end with the run."""
        self._is_ours = not given
        os.environ.update(_EVERYWHERE)
        if address:
            _refuse_silent(address)
        else:
            os.environ.update(_OF_OUR_OWN, RAY_AUTH_TOKEN=secrets.token_hex(32))
            os.environ.update(_ON_THIS_MACHINE if nodes == 1 else {})
        import ray

        if address:
            _refuse_strange(address)
        self._ray = ray
        chosen = {"address": address} if address else _own(config, self.directory)
        self._starter = _Starter(lambda: ray.init(**chosen, log_to_driver=False, logging_level="ERROR"))
        self._starter.start()
        self._starter.wait()
        self._others: OtherNodes | None = None
        try:
            if address:
                _refuse_small(address, ray.cluster_resources(), config)
            elif nodes > 1:
                self._others = OtherNodes(ray.get_runtime_context().gcs_address, config)
                self._others.wait(lambda: sum(node["Alive"] for node in ray.nodes()))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of Ray; of the run's own, nothing is left."""
        if self._others:
            self._others.close()
        self._ray.shutdown()
        self._starter.end()
        if self._is_ours:
            shutil.rmtree(self.directory, ignore_errors=True)


_EVERYWHERE = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_AUTO_CONNECT": "0",  # nothing but this module starts a Ray
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


_OF_OUR_OWN = {"RAY_AUTH_MODE": "token", "RAY_worker_niceness": "0"}
_ON_THIS_MACHINE = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Ray listens on the loopback interface only, and takes no other nodes."""


def _own(config: RllibConfig, directory: Path) -> dict[str, Any]:
    address = {"_node_ip_address": own_address()} if config.spec.resources.nodes > 1 else {}
    return {
        "address": "local",
        "num_cpus": config.layout.cpus_per_node,
        "num_gpus": config.spec.resources.gpus,
        "include_dashboard": False,
        "object_store_memory": OBJECT_STORE,
        "_temp_dir": str(directory / "ray"),  # Ray lets everybody write into it; nobody else gets into ours
        **address,
    }


def _refuse_silent(address: str) -> None:
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise UserError(f"worker.ray.address: {address!r} is not host:port")
    try:
        socket.create_connection((host, int(port)), timeout=_PATIENCE).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"worker.ray.address: nobody answers at {address}: {reason}") from error


def _refuse_strange(address: str) -> None:
    """Ray itself would try for minutes."""
    from ray._private.services import canonicalize_bootstrap_address
    from ray._raylet import GcsClient

    chosen = canonicalize_bootstrap_address(address)
    _refuse_silent(chosen)  # Ray does not take "localhost" for what it says, where it may have several nodes
    answers: list[Any] = []

    def ask() -> None:
        with suppress(Exception):
            answers.append(GcsClient(address=chosen).internal_kv_keys(b"", namespace=b"session", timeout=_PATIENCE))

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(_PATIENCE)
    if not answers:
        raise UserError(
            f"worker.ray.address: what answers at {address} is no Ray cluster, or wants another token than "
            "RAY_AUTH_MODE and RAY_AUTH_TOKEN_PATH give"
        )


def _refuse_small(address: str, resources: dict[str, float], config: RllibConfig) -> None:
    """Ray itself would wait until the cluster grows."""
    layout = config.layout
    for name, needed in (("CPU", layout.env_runners), ("GPU", layout.learners * layout.gpus_per_learner)):
        if needed > (there := resources.get(name, 0)):
            raise UserError(f"resources: {needed} {name}s are needed, and the cluster at {address} has {there:g}")


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
