"""Every algorithm: the configuration file of XuanCe's that its run starts from, and how it is trained."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Algorithm:
    """One algorithm; a file is named below XuanCe's ``configs``."""

    files: dict[str, str]
    """For each kind of action, discrete or continuous."""
    on_policy: bool
    team: bool = False
    """Whether it trains several agents."""
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    """For each kind of action, what the file says otherwise."""


def _classic(name: str, kinds: dict[str, str], *, on_policy: bool) -> Algorithm:
    return Algorithm({kind: f"{name}/classic_control/{env}.yaml" for kind, env in kinds.items()}, on_policy)


_DISCRETE = {"discrete": "CartPole-v1"}
_CONTINUOUS = {"continuous": "Pendulum-v1"}
_BOTH = {**_DISCRETE, **_CONTINUOUS}

ALGORITHMS = {
    "ppo": _classic("ppo", _BOTH, on_policy=True),
}
"""By canonical name."""
