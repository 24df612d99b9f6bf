"""A run in the foreground: this process is its supervisor."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mosaic_pipe.base.errors import SpecError
from mosaic_pipe.launch.attempt import Share, begin_attempt, disk_error
from mosaic_pipe.launch.preparation import Prepared
from mosaic_pipe.store.attempts import this_owner
from mosaic_pipe.store.manifest import Manifest
from mosaic_pipe.store.runs import Runs
from mosaic_pipe.supervise.outcome import StopReason
from mosaic_pipe.supervise.signals import StopRequests
from mosaic_pipe.supervise.start import choose_gpus
from mosaic_pipe.supervise.supervisor import POLL_SECONDS, Progress, Supervisor


def run_here(prepared: Prepared, output_dir: Path, show: Callable[[Progress], None]) -> Manifest:
    """Run what was prepared to its end, supervised by this process.

    Args:
        prepared: what to run, under a fresh run id.
        output_dir: the run gets a directory below ``runs/`` in it.
        show: called several times a second with how far the run is.

    Raises:
        UserError: there are not enough nodes or GPUs, the run's directory could not be made or its end not be written.
    """
    if prepared.spec.resources.nodes > 1:
        hint = "submit it to Slurm: -m hydra/launcher=slurm"
        raise SpecError("this is one machine", where="resources.nodes", hint=hint)
    run = Runs(output_dir).new(prepared.spec.run_id)
    share = Share(gpus=tuple(choose_gpus(prepared.spec.resources)))
    with StopRequests() as requests:
        supervisor = begin_attempt(prepared, run, 1, this_owner(), share, show)
        assert supervisor is not None, "a fresh run id is nobody else's"
        try:
            _supervise(supervisor, requests)
        except OSError as error:
            raise disk_error(error, run, "the end of the run could not be written") from error
        except BaseException:
            supervisor.abandon()
            raise
    return supervisor.manifest


def _supervise(supervisor: Supervisor, requests: StopRequests) -> None:
    over = supervisor.manifest.state.is_final
    while not over:
        if requests.count == 1:
            supervisor.stop(StopReason.CANCEL, "stopping with a checkpoint; press Ctrl-C again to kill")
        elif requests.count > 1:
            supervisor.kill()
        over = supervisor.look(POLL_SECONDS)
