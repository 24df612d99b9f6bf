"""Every algorithm: the configuration file of XuanCe's that its run starts from, and how it is trained."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Algorithm:
    """One algorithm; a file is named below XuanCe's ``configs``."""

    files: dict[str, str]
    """For each kind: discrete or continuous actions on vectors, or images, with discrete actions."""
    on_policy: bool
    team: bool = False
    """Whether it trains several agents."""
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    """For each kind, what the file says otherwise."""

    @staticmethod
    def kind(env: Any) -> str:
        """Which of the kinds the environment of a spec is."""
        return "image" if env.observation_space == "image" else str(env.action_space)


_FILES = {
    "discrete": "classic_control/CartPole-v1",
    "continuous": "classic_control/Pendulum-v1",
    "image": "atari",
}


def _single(name: str, *kinds: str, on_policy: bool = False, **settings: Any) -> Algorithm:
    files = {kind: f"{name}/{_FILES[kind]}.yaml" for kind in kinds}
    return Algorithm(files, on_policy, settings=dict.fromkeys(kinds, settings))


def _team(name: str, *kinds: str, on_policy: bool = False, **settings: dict[str, Any]) -> Algorithm:
    own = {kind: {"continuous_action": kind == "continuous", **settings.get(kind, {})} for kind in kinds}
    return Algorithm(dict.fromkeys(kinds, f"{name}/mpe/simple_spread_v3.yaml"), on_policy, True, own)


_CATEGORICAL = {"policy": "Categorical_MAAC_Policy"}
_GAUSSIAN = {"policy": "Gaussian_MAAC_Policy"}

ALGORITHMS = {
    "ppo": _single("ppo", "discrete", "continuous", "image", on_policy=True),
    "ppg": _single("ppg", "discrete", "continuous", on_policy=True),
    "a2c": _single("a2c", "discrete", "continuous", on_policy=True, n_minibatch=1),
    "reinforce": _single("pg", "discrete", "continuous", on_policy=True),
    "dqn": _single("dqn", "discrete", "image"),
    "ddqn": _single("ddqn", "discrete"),
    "dueldqn": _single("dueldqn", "discrete"),
    "noisydqn": _single("noisydqn", "discrete"),
    "perdqn": _single("perdqn", "discrete"),
    "c51": _single("c51", "discrete"),
    "qrdqn": _single("qrdqn", "discrete"),
    "ddpg": _single("ddpg", "continuous"),
    "td3": _single("td3", "continuous"),
    "sac": _single("sac", "continuous"),
    "discrete_sac": _single("sac", "discrete"),
    "mappo": _team("mappo", "discrete", "continuous", on_policy=True, discrete=_CATEGORICAL),
    "ippo": _team("ippo", "discrete", "continuous", on_policy=True, discrete=_CATEGORICAL),
    "coma": _team("coma", "discrete", on_policy=True),
    "iac": _team("iac", "discrete", "continuous", on_policy=True, continuous=_GAUSSIAN),
    "vdac": _team("vdac", "discrete", "continuous", on_policy=True, continuous=_GAUSSIAN),
    "iql": _team("iql", "discrete"),
    "vdn": _team("vdn", "discrete"),
    "qmix": _team("qmix", "discrete"),
    "wqmix": _team("wqmix", "discrete"),
    "qtran": _team("qtran", "discrete"),
    "iddpg": _team("iddpg", "continuous"),
    "maddpg": _team("maddpg", "continuous"),
    "itd3": _team("itd3", "continuous"),
    "matd3": _team("matd3", "continuous"),
    "isac": _team("isac", "continuous"),
    "masac": _team("masac", "continuous"),
}
"""By canonical name."""
