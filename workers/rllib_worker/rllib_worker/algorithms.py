"""RLlib's configs, filled in."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mosaic_worker.spec import hyperparameters
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.algorithms.appo import APPOConfig
from ray.rllib.algorithms.dqn import DQNConfig
from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.algorithms.sac import SACConfig
from ray.tune.registry import register_env

from rllib_worker import environments, native, team
from rllib_worker.config import RllibConfig
from rllib_worker.reports import SendTally

_ENVIRONMENT = "mosaic"
"""The name under which RLlib knows what makes the environments."""


@dataclass(frozen=True)
class Recipe:
    """How an algorithm is configured before a spec's settings."""

    config: type[AlgorithmConfig]
    network: dict[str, Any] = field(default_factory=dict)
    """Of the default networks, what is set otherwise than in RLlib."""
    prepare: Callable[[Any, RllibConfig], None] = lambda algorithm, config: None


def _ppo(algorithm: Any, config: RllibConfig) -> None:
    algorithm.training(use_kl_loss=False, vf_clip_param=math.inf)
    if config.clips_value_loss:
        from rllib_worker.learners import ClippedValueLearner

        algorithm.training(learner_class=ClippedValueLearner)


def _asynchronous(algorithm: Any, config: RllibConfig) -> None:
    algorithm.reporting(min_time_s_per_iteration=0.25)  # between two iterations a run can be stopped


def _q_learning(algorithm: Any, config: RllibConfig) -> None:
    """The plain algorithm; ``algo.native`` can ask for RLlib's extensions."""
    algorithm.training(double_q=False, dueling=False, replay_buffer_config=_replay_buffer(config))


def _soft(algorithm: Any, config: RllibConfig) -> None:
    rate = config.settings.get("critic_lr")
    algorithm.training(replay_buffer_config=_replay_buffer(config), **({"alpha_lr": rate} if rate else {}))
    algorithm.reporting(min_time_s_per_iteration=None)


def _replay_buffer(config: RllibConfig) -> dict[str, Any]:
    size = {} if config.buffer_size is None else {"capacity": config.buffer_size}
    return {"type": "EpisodeReplayBuffer", **size}


_TANH = {"fcnet_hiddens": [64, 64], "fcnet_activation": "tanh", "vf_share_layers": False}
_RELU = {"fcnet_hiddens": [256, 256], "fcnet_activation": "relu"}

RECIPES: dict[str, Recipe] = {
    "ppo": Recipe(PPOConfig, _TANH, _ppo),
    "ppo_continuous_action": Recipe(PPOConfig, _TANH, _ppo),
    "impala": Recipe(IMPALAConfig, _TANH, _asynchronous),
    "appo": Recipe(APPOConfig, _TANH, _asynchronous),
    "dqn": Recipe(DQNConfig, {"fcnet_hiddens": [128, 128], "fcnet_activation": "relu"}, _q_learning),
    "sac": Recipe(SACConfig, _RELU, _soft),
}


def algorithm_config(config: RllibConfig) -> Any:
    """The algorithm's config, complete; RLlib checks it when the algorithm is built.

    Raises:
        UserError: there is no such parameter.
    """
    spec, layout, recipe = config.spec, config.layout, RECIPES[config.spec.algo.name]
    if not hyperparameters(spec):  # nothing canonical is asked for: all is as RLlib has it
        recipe = Recipe(recipe.config)
    native.check(spec)
    algorithm = recipe.config()
    recipe.prepare(algorithm, config)
    register_env(_ENVIRONMENT, environments.make_training)
    algorithm.environment(
        _ENVIRONMENT,
        env_config={
            "id": spec.env.id,
            "family": spec.env.family,
            "kwargs": spec.env.kwargs,
            "seed": spec.seed,
            "envs_per_runner": layout.envs_per_runner,
        },
    )
    if config.policies:
        team.configure(algorithm, environments.make(vars(spec.env)), config.policies)
    algorithm.env_runners(
        num_env_runners=layout.env_runners,
        num_envs_per_env_runner=layout.envs_per_runner,
        create_local_env_runner=not layout.env_runners,
        sample_timeout_s=None,  # a slow environment is no failure
    )
    algorithm.learners(num_learners=layout.learners, num_gpus_per_learner=layout.gpus_per_learner)
    algorithm.fault_tolerance(restart_failed_env_runners=False)  # an error in an environment ends the run
    algorithm.callbacks(SendTally)
    algorithm.debugging(seed=spec.seed, log_level="ERROR")
    algorithm.reporting(log_gradients=False)
    native.apply(algorithm, {**recipe.network, **config.settings})
    return algorithm
