"""Steps and episodes, from the processes where they are taken to the driver that reports them.

An env runner counts in a tally of its process. What the tally holds at the end of a sample travels with RLlib's own
metrics, so that nothing is lost or counted twice however many env runners there are.
"""

from dataclasses import dataclass, field
from typing import Any

from mosaic_worker.session import Session
from ray.rllib.callbacks.callbacks import RLlibCallback

KEY = "mosaic_tally"

Ended = tuple[int, float, int, dict[str, float] | None]
"""An episode: steps of its process until it ended, its raw return, its length, each agent's return."""


@dataclass
class Tally:
    """What the environments of this process did since :meth:`take`; they report to it as to a session."""

    environments: int = 0
    steps: int = 0
    episodes: list[Ended] = field(default_factory=list)

    def next_environment(self) -> int:
        """The number of an environment that is being made, from 0."""
        self.environments += 1
        return self.environments - 1

    def tick(self) -> None:
        """A step was taken."""
        self.steps += 1

    def episode(
        self, episode_return: float, episode_length: int, *, agent_returns: dict[str, float] | None = None
    ) -> None:
        """The last step ended an episode."""
        self.episodes.append((self.steps, episode_return, episode_length, agent_returns))

    def take(self, runner: int) -> dict[str, Any]:
        """What there is, by the name of this env runner; counting begins anew."""
        taken = {"runner": runner, "steps": self.steps, "episodes": self.episodes}
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
    steps: dict[int, int] = {}
    ended: list[tuple[int, int, Ended]] = []
    for tally in _taken_out(result):
        runner, before = tally["runner"], steps.get(tally["runner"], 0)
        ended += [(before + episode[0], runner, episode) for episode in tally["episodes"]]
        steps[runner] = before + tally["steps"]
    reported = 0
    for at, _, (_, total, length, agent_returns) in sorted(ended, key=lambda one: one[:2]):
        now = sum(min(at, own) for own in steps.values())
        session.tick(now - reported)
        session.episode(total, length, agent_returns=agent_returns)
        reported = now
    session.tick(sum(steps.values()) - reported)


def _taken_out(result: dict[str, Any]) -> list[dict[str, Any]]:
    """RLlib gives a series as a list, a single item as itself, and none as NaN or not at all."""
    found = result.get("env_runners", {}).pop(KEY, [])
    found = found if isinstance(found, list) else [found]
    return [tally for tally in found if isinstance(tally, dict)]
