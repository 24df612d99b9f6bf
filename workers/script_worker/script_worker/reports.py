"""What a script says in lines ``mosaic: WORD …``, as events. README.md lists the words."""

from collections.abc import Callable
from pathlib import Path

from mosaic_worker.script import whole_number
from mosaic_worker.session import Session

_CANONICAL = ("env_steps", "wall_time", "sps")


class Reports:
    """Passes a script's reports on to ``session``."""

    def __init__(self, session: Session, env_id: str, phases: tuple[str, ...]) -> None:
        self._session, self._env_id, self._phases = session, env_id, phases
        self._entered = 0
        self._words: dict[str, Callable[[str], None]] = {
            "phase": self._phase,
            "steps": self._steps,
            "episode": self._episode,
            "metric": self._metric,
            "checkpoint": self._checkpoint,
            "artifact": self._artifact,
            "warning": self._warning,
        }

    def report(self, text: str) -> None:
        """Take in ``text``, what a line says after ``mosaic:``.

        Raises:
            ValueError: it does not say anything known; tells why.
            Stopped: as ``Session.tick``, after the report was taken in.
        """
        word, _, rest = text.strip().partition(" ")
        if word not in self._words:
            raise ValueError(f"expected one of {', '.join(self._words)}")
        self._words[word](rest.strip())

    def _phase(self, name: str) -> None:
        if not name:
            raise ValueError("expected the name of the phase")
        self._session.stage_started(self._entered, self._env_id, name=name)
        self._entered += 1
        if self._phases and name not in self._phases:
            self._session.warning(f"the script's header does not name the phase {name!r}")

    def _steps(self, text: str) -> None:
        new = whole_number(text) - self._session.env_steps
        if new < 0:
            raise ValueError(f"expected all steps so far, and there were {self._session.env_steps} before")
        self._session.tick(new)

    def _episode(self, text: str) -> None:
        said = _pairs(text)
        if said.keys() != {"return", "length"}:
            raise ValueError("expected return=NUMBER length=NUMBER")
        self._session.episode(float(said["return"]), whole_number(said["length"]))

    def _metric(self, text: str) -> None:
        metrics = {name: float(value) for name, value in _pairs(text).items()}
        if not metrics or metrics.keys() & set(_CANONICAL):
            raise ValueError(f"expected NAME=NUMBER, and none of the names {', '.join(_CANONICAL)}")
        for name, value in metrics.items():
            self._session.metric(name, value, self._session.env_steps)
        self._session.send_metrics()

    def _checkpoint(self, path: str) -> None:
        file = self._inside(path)
        if not file.is_file():
            raise ValueError("there is no such file")
        self._session.checkpoint_saved(file)

    def _artifact(self, text: str) -> None:
        kind, _, path = text.partition(" ")
        if not self._inside(path.strip()).exists():
            raise ValueError("expected KIND PATH, of something that is there")
        self._session.artifact(kind, self._inside(path.strip()))

    def _warning(self, message: str) -> None:
        self._session.warning(message)

    def _inside(self, path: str) -> Path:
        """``path``, relative to the run directory, which it may not leave."""
        run_dir = self._session.run_dir
        place = (run_dir / path).resolve()
        if not path or run_dir not in place.parents:
            raise ValueError("expected a path inside the run directory")
        return place


def _pairs(text: str) -> dict[str, str]:
    """``a=1 b=2`` as a dict."""
    pairs = [word.partition("=") for word in text.split()]
    if not all(name and equals for name, equals, _ in pairs):
        raise ValueError("expected NAME=VALUE with spaces between them")
    return {name: value for name, _, value in pairs}
