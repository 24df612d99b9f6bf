"""Steps and episodes, from the processes where they are taken to the driver that reports them.

An env runner counts in a tally of its process. What the tally holds at the end of a sample travels with RLlib's own
metrics, so that nothing is lost or counted twice however many env runners there are.
"""

from dataclasses import dataclass, field
from typing import Any

from mosaic_worker.session import Session
from ray.rllib.callbacks.callbacks import RLlibCallback

KEY = "mosaic_tally"


@dataclass
class Tally:
    """What the environments of this process did since :meth:`take`."""

    environments: int = 0
    steps: int = 0
    episodes: list[tuple[int, float, int]] = field(default_factory=list)
    """For each that ended: steps of this process until then, its raw return, its length."""

    def next_environment(self) -> int:
        """The number of an environment that is being made, from 0."""
        self.environments += 1
        return self.environments - 1

    def stepped(self, finished: tuple[float, int] | None) -> None:
        """A step was taken; ``finished``: return and length of the episode that it ended."""
        self.steps += 1
        if finished:
            self.episodes.append((self.steps, *finished))

    def take(self, runner: int) -> tuple[int, int, list[tuple[int, float, int]]]:
        """The env runner's number, its steps, its episodes; counting begins anew."""
        taken = (runner, self.steps, self.episodes)
        self.steps, self.episodes = 0, []
        return taken


TALLY = Tally()


class SendTally(RLlibCallback):
    """Puts the tally among the metrics of a sample."""

    def on_sample_end(self, *, env_runner: Any, metrics_logger: Any, **_: Any) -> None:
        """RLlib calls it in the env runner's process."""
        metrics_logger.log_value(KEY, TALLY.take(env_runner.worker_index or 0), reduce="item_series")


def report(result: dict[str, Any], session: Session) -> None:
    """Tell ``session`` of the steps and episodes of one iteration; they are taken out of ``result``.

    Env runners step side by side. An episode's ``env_steps`` are those that all had taken if each had kept step with
    the one that it ended in; with one env runner, that is exact.
    """
    tallies = result.get("env_runners", {}).pop(KEY, [])
    steps: dict[int, int] = {}
    ended: list[tuple[int, int, float, int]] = []
    for runner, taken, episodes in tallies if isinstance(tallies, list) else []:
        before = steps.get(runner, 0)
        ended += [(before + at, runner, total, length) for at, total, length in episodes]
        steps[runner] = before + taken
    reported = 0
    for at, _, total, length in sorted(ended):
        now = sum(min(at, own) for own in steps.values())
        session.tick(now - reported)
        session.episode(total, length)
        reported = now
    session.tick(sum(steps.values()) - reported)
