"""The command line that every worker has: ``python -m <worker>.cli``."""

import argparse
import errno
import json
import os
import platform
import sys
import traceback
from pathlib import Path
from typing import Any, Callable, List, Optional

from mosaic_worker.emitter import Emitter
from mosaic_worker.errors import EventsLost, Stopped, UserError
from mosaic_worker.fork_server import serve
from mosaic_worker.heartbeat import Heartbeat
from mosaic_worker.interactive import converse
from mosaic_worker.interfaces import Worker, WorkerRuntime
from mosaic_worker.protocol import ENV_ATTEMPT, Event, ExitCode, Failure
from mosaic_worker.session import Session
from mosaic_worker.spec import Spec, load_spec
from mosaic_worker.stdio import take_over_stdout


def main(worker: Worker, argv: Optional[List[str]] = None) -> int:
    """Run ``worker`` as its command line says.

    Returns:
        The process's exit code, an :class:`ExitCode`.
    """
    arguments = _parser(worker).parse_args(argv)
    if arguments.fork_server is not None:
        try:
            argv = serve(arguments.fork_server, _capabilities(worker)["preload"])
        except UserError as error:
            return _refuse(str(error))
        arguments = _parser(worker).parse_args(argv)
    if arguments.describe:
        return _answer(lambda: _description(worker))
    if arguments.config is None:
        return _refuse("--config FILE is needed (or --describe)")
    if arguments.interactive:
        return _interact(worker, arguments.config)
    if arguments.dry_run:
        return _answer(lambda: worker.config(load_spec(arguments.config)).describe())
    return _train(worker, arguments.config, arguments.resume)


def _parser(worker: Worker) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"python -m {worker.package}.cli")
    parser.add_argument("--config", type=Path, metavar="FILE", help="the run's spec.json; its directory is the run's")
    parser.add_argument("--resume", type=Path, metavar="FILE", help="go on from this checkpoint, an earlier attempt's")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--dry-run", action="store_true", help="resolve and check everything, print it, start nothing")
    how.add_argument("--interactive", action="store_true", help="commands and replies as JSON lines")
    how.add_argument("--describe", action="store_true", help="print what this worker can do, as JSON")
    how.add_argument("--fork-server", type=int, metavar="FD", help="import the library, then fork on request")
    return parser


def _capabilities(worker: Worker) -> Any:
    package = sys.modules[worker.package].__file__
    assert package is not None
    return json.loads((Path(package).parent / "capabilities.json").read_text(encoding="utf-8"))


def _description(worker: Worker) -> Any:
    return {
        "python": platform.python_version(),
        "capabilities": _capabilities(worker),
        "native_parameters": worker.native_parameters(),
    }


def _answer(produce: Callable[[], Any]) -> int:
    """Print what ``produce`` returns as JSON, alone on stdout whatever the library prints."""
    stdout = take_over_stdout()
    try:
        text = json.dumps(produce(), indent=2, sort_keys=True, default=str)
    except UserError as error:
        return _refuse(str(error))
    with os.fdopen(stdout, "w", encoding="utf-8") as file:
        file.write(text + "\n")
    return ExitCode.COMPLETED


def _interact(worker: Worker, config: Path) -> int:
    """Commands on stdin, replies on stdout; events go nowhere."""
    replies = take_over_stdout()
    try:
        spec = load_spec(config)
        nowhere = Emitter(os.open(os.devnull, os.O_WRONLY), spec.run_id, 1)
        session = Session(nowhere, config.resolve().parent)
        runtime: Any = worker.runtime(worker.config(spec), session)
        if not hasattr(runtime, "interact"):
            return _refuse("this worker has no interactive mode")
        runtime.interact(lambda interaction: converse(interaction, 0, replies))
    except UserError as error:
        return _refuse(str(error))
    return ExitCode.COMPLETED


def _refuse(message: str) -> int:
    sys.stderr.write(f"error: {message}\n")
    return ExitCode.USER_ERROR


def _train(worker: Worker, config: Path, checkpoint: Optional[Path]) -> int:
    events = take_over_stdout()
    try:
        spec = load_spec(config)
        if checkpoint:
            spec.mode, spec.resume.checkpoint = "resume_training", str(checkpoint)
    except UserError as error:
        return _refuse(str(error))
    run_dir = config.resolve().parent
    emitter = Emitter(events, spec.run_id, int(os.environ.get(ENV_ATTEMPT, "1")))
    policy = spec.checkpoint
    session = Session(emitter, run_dir, checkpoint_interval=policy.interval, keep_checkpoints=policy.keep)
    session.listen()
    heartbeat = Heartbeat(session, spec.resources.heartbeat_interval)
    try:
        session.started(worker=worker.package)
        heartbeat.start()
        return _attempt(worker, spec, session, heartbeat)
    except EventsLost as error:
        return _end_unheard(error)
    finally:
        heartbeat.stop()


def _attempt(worker: Worker, spec: Spec, session: Session, heartbeat: Heartbeat) -> int:
    """One attempt, from the spec to the last event."""
    runtime: Optional[WorkerRuntime] = None
    try:
        runtime = worker.runtime(worker.config(spec), session)
        try:
            runtime.run()
            ending, code = Event.RUN_COMPLETED, ExitCode.COMPLETED
        except Stopped:
            ending, code = Event.RUN_CANCELLED, ExitCode.STOPPED
        session.training_ended()
        session.send_metrics()
        session.checkpoints.save(runtime.save_checkpoint)
        heartbeat.stop()  # nothing comes after the last word, however long the library takes to let go
        session.relay()
        session.emit(ending, session.summary())
        return code
    except (Exception, SystemExit) as error:
        heartbeat.stop()
        return _failed(error, session)
    finally:
        if runtime is not None:
            _close(runtime)


def _failed(error: BaseException, session: Session) -> int:
    _log(f"error: {error}\n" if isinstance(error, UserError) else traceback.format_exc())
    failure = _failure_class(error, session.run_dir)
    reason = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
    session.relay()
    session.emit(Event.RUN_FAILED, {**session.summary(), "class": failure, "reason": reason})
    if failure == Failure.DISK_FULL:
        return ExitCode.DISK_FULL
    return ExitCode.USER_ERROR if isinstance(error, UserError) else ExitCode.FAILED


def _failure_class(error: BaseException, run_dir: Path) -> str:
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":  # torch's, not imported here
        return Failure.OUT_OF_MEMORY
    # A library may wrap ENOSPC in an error of its own (torch.save does): ask the disk too.
    if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or _is_full(run_dir):
        return Failure.DISK_FULL
    return Failure.USER_ERROR


def _is_full(directory: Path) -> bool:
    return os.statvfs(directory).f_bavail == 0


def _close(runtime: WorkerRuntime) -> None:
    try:
        runtime.close()
    except Exception:  # the run has ended and is on record; how its library lets go cannot change that
        _log(traceback.format_exc())


def _log(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:  # the log's disk may be what is full
        pass


def _end_unheard(error: EventsLost) -> int:
    """The exit code alone tells what happened: there is nowhere left to write."""
    _log(f"error: {error}\n")
    return ExitCode.DISK_FULL
