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
    recurrent: bool = False
    """Whether its networks may be recurrent."""
    mean_field: bool = False
    """Whether agents are told what the others did before."""
    alike: bool = False
    """Whether all agents must see things of one shape."""
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


def _team(
    name: str,
    *kinds: str,
    on_policy: bool = False,
    recurrent: bool = False,
    mean_field: bool = False,
    alike: bool = False,
    **settings: dict[str, Any],
) -> Algorithm:
    own = {kind: {"continuous_action": kind == "continuous", **settings.get(kind, {})} for kind in kinds}
    files = dict.fromkeys(kinds, f"{name}/mpe/simple_spread_v3.yaml")
    return Algorithm(files, on_policy, True, recurrent, mean_field, alike, settings=own)


_CATEGORICAL = {"policy": "Categorical_MAAC_Policy"}
_GAUSSIAN = {"policy": "Gaussian_MAAC_Policy"}

ALGORITHMS = {
    "ppo": _single("ppo", "discrete", "continuous", "image", on_policy=True),
    "ppo_kl": _single("ppo", "discrete", "continuous", on_policy=True, agent="PPO_KL", learner="PPOKL_Learner"),
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
    "mappo": _team(
        "mappo", "discrete", "continuous", on_policy=True, recurrent=True, alike=True, discrete=_CATEGORICAL
    ),
    "ippo": _team("ippo", "discrete", "continuous", on_policy=True, recurrent=True, discrete=_CATEGORICAL),
    "coma": _team("coma", "discrete", on_policy=True, recurrent=True),
    "iac": _team("iac", "discrete", "continuous", on_policy=True, recurrent=True, continuous=_GAUSSIAN),
    "vdac": _team("vdac", "discrete", "continuous", on_policy=True, recurrent=True, continuous=_GAUSSIAN),
    "mfac": _team("mfac", "discrete", on_policy=True, mean_field=True),
    "commnet": _team("commnet", "discrete", on_policy=True, recurrent=True, alike=True),
    "ic3net": _team("ic3net", "discrete", on_policy=True, recurrent=True, alike=True),
    "tarmac": _team("tarmac", "discrete", on_policy=True, recurrent=True, alike=True),
    "iql": _team("iql", "discrete", recurrent=True),
    "vdn": _team("vdn", "discrete", recurrent=True),
    "qmix": _team("qmix", "discrete", recurrent=True),
    "wqmix": _team("wqmix", "discrete", recurrent=True),
    "qtran": _team("qtran", "discrete"),
    "mfq": _team("mfq", "discrete", mean_field=True),
    "iddpg": _team("iddpg", "continuous"),
    "maddpg": _team("maddpg", "continuous"),
    "itd3": _team("itd3", "continuous"),
    "matd3": _team("matd3", "continuous"),
    "isac": _team("isac", "continuous"),
    "masac": _team("masac", "continuous", recurrent=True),
}
"""By canonical name."""
