"""Running the script, hearing what it says, and ending it."""

import contextlib
import os
import selectors
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from mosaic_worker.errors import Stopped, UserError
from mosaic_worker.session import Session

from script_worker.config import ScriptConfig
from script_worker.output import Output, write_log
from script_worker.reports import Reports

POLL_SECONDS = 0.1
MAX_COMPLAINTS = 10
_WHOLE_PIPE = 1 << 20  # a pipe never holds more, so that one read empties it


class ScriptRuntime:
    """One script, run by bash in the run directory, in a process group of its own within the worker's session."""

    def __init__(self, config: ScriptConfig, session: Session) -> None:
        self._config, self._session = config, session
        self._reports = Reports(session, config.env_id, config.phases)
        self._output = Output(self._report)
        self._complaints = 0
        self._last_errors = b""
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = False

    def run(self) -> None:
        """Run the script to its end; it is the judge of its budget."""
        self._session.tick(0)  # the clock of steps a second starts here
        (self._session.run_dir / "checkpoints").mkdir(exist_ok=True)
        self._keep_copy()
        self._process = process = self._start()
        self._follow(process)
        self._output.close()
        code = process.returncode
        if self._stopping:
            raise Stopped
        if code:
            raise UserError(f"{Path(self._config.script).name} {_ending(code)}: {self._last_words()}")

    def save_checkpoint(self, directory: Path) -> Path | None:
        """None: the script saves its own, and reports them."""
        return None

    def close(self) -> None:
        """Kill the script, where it did not end."""
        if self._process and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def _keep_copy(self) -> None:
        """What ran is on record, whatever becomes of the original, which is what runs: it may look beside itself."""
        copy = self._session.run_dir / "script.sh"
        shutil.copyfile(self._config.script, copy)
        self._session.artifact("script", copy)

    def _start(self) -> subprocess.Popen[bytes]:
        bash = shutil.which("bash")
        if bash is None:
            raise UserError("bash is not installed; it runs the script")
        return subprocess.Popen(
            [bash, self._config.script],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self._session.run_dir,
            env={**os.environ, **self._config.variables(self._session.run_dir)},
            process_group=0,
        )

    def _follow(self, process: subprocess.Popen[bytes]) -> None:
        """Hear the script until it ends itself, whatever its children keep open and whatever it closes early."""
        assert process.stdout
        assert process.stderr
        listeners = {process.stdout.fileno(): self._output.feed, process.stderr.fileno(): self._hear_errors}
        with selectors.DefaultSelector() as selector:
            for fd in listeners:
                os.set_blocking(fd, False)
                selector.register(fd, selectors.EVENT_READ)
            ended = False
            while not ended or (self._stopping and listeners and _group_lives(process.pid)):
                selector.select(POLL_SECONDS)
                ended = process.poll() is not None  # asked before the last look: what it said before is not missed
                for closed in [fd for fd, listener in listeners.items() if not self._hear(fd, listener)]:
                    selector.unregister(closed)
                    del listeners[closed]
                if not ended:
                    self._pass_stop_on(process)

    def _hear(self, fd: int, listener: Callable[[bytes], None]) -> bool:
        """Pass on what there is to read; False: nothing will come any more."""
        try:
            data = os.read(fd, _WHOLE_PIPE)
        except BlockingIOError:
            return True
        if data:
            self._session.alive()
            listener(data)
        return bool(data)

    def _hear_errors(self, data: bytes) -> None:
        self._last_errors = (self._last_errors + data)[-4096:]
        write_log(data)

    def _report(self, line: bytes) -> bool:
        """Whether ``line`` was understood; the user is told of the first ones that were not."""
        text = line.decode(errors="replace")
        try:
            with contextlib.suppress(Stopped):  # asked for again after each look at the output
                self._reports.report(text)
        except (ValueError, OSError) as error:
            self._complaints += 1
            if self._complaints <= MAX_COMPLAINTS:
                self._session.warning(f"not understood: 'mosaic:{text[:200]}': {error}")
            if self._complaints == MAX_COMPLAINTS:
                self._session.warning("what else is not understood stands in worker.log only")
            return False
        return True

    def _pass_stop_on(self, process: subprocess.Popen[bytes]) -> None:
        """On a stop request: SIGTERM to the script and its children, once. The supervisor's grace limits the wait."""
        try:
            self._session.tick(0)
        except Stopped:
            if not self._stopping:
                self._stopping = True
                os.killpg(process.pid, signal.SIGTERM)

    def _last_words(self) -> str:
        lines = self._last_errors.decode(errors="replace").split("\n")
        return next((line.strip()[:500] for line in reversed(lines) if line.strip()), "nothing on stderr")


def _group_lives(number: int) -> bool:
    """bash dies of SIGTERM at once; the program that it ran may still be saving its work."""
    try:
        os.killpg(number, 0)
    except ProcessLookupError:
        return False
    return True


def _ending(code: int) -> str:
    return f"ended with exit code {code}" if code > 0 else f"was killed by {signal.Signals(-code).name}"
