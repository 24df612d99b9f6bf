"""Executing a CleanRL script, unmodified, as the ``__main__`` that it is written to be."""

import ast
import builtins
import os
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mosaic_worker.session import Session

from cleanrl_worker import environments, tracking
from cleanrl_worker.config import CleanRLConfig
from cleanrl_worker.main_loop import MainLoop, Position, loop_lines


class Execution:
    """One script in this process: its global names, and the environments that were made for it."""

    def __init__(self, config: CleanRLConfig, session: Session) -> None:
        self._config, self._session = config, session
        self.names: dict[str, Any] = {}
        self.made = environments.install(session, config.spec)
        tracking.install(session, config.spec)
        script = Path(config.script)
        self._tree = ast.parse(script.read_bytes(), config.script)
        self.loop_lines = loop_lines(self._tree)

    def run(self, reached: Callable[[], None], ended: Callable[[], None], start: Position = ()) -> None:
        """Execute the script to its end.

        Args:
            reached: called at the head of each iteration of its training loop.
            ended: called when the loop is over; the script may go on, with an evaluation of its own, say.
            start: the position in the loop to begin at.
        """
        script = self._config.script
        main = types.ModuleType("__main__")
        main.__file__ = script
        self.loop = MainLoop(self.loop_lines, self._session, reached, ended, start)
        vars(main)["__builtins__"] = {
            **vars(builtins),
            "range": self.loop.range_,
            "__build_class__": self._build_class,
        }
        sys.modules["__main__"] = main  # classes of the script must be picklable by name
        sys.argv = [script, *self._config.arguments]
        os.chdir(self._session.run_dir)  # the scripts write videos and models below the current directory
        self.names = vars(main)
        exec(compile(self._tree, script, "exec"), self.names)  # noqa: S102 - the library itself

    def close(self) -> None:
        """Close what the script opened, where it was stopped before it did so itself."""
        for name in ("envs", "writer"):
            if name in self.names and not getattr(self.names[name], "closed", False):
                self.names[name].close()
        tracking.close()

    def _build_class(self, function: Any, name: str, *bases: Any, **options: Any) -> Any:
        """A class statement of the script; ``Agent`` may be one of ours."""
        if name == "Agent" and self.made.agent is not None:
            return self.made.agent
        return builtins.__build_class__(function, name, *bases, **options)
