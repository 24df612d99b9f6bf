"""Every algorithm as a recipe: which of Tianshou's classes it is made of."""

from tianshou_worker.algorithms.actor_critic import ACTOR_CRITIC
from tianshou_worker.algorithms.offline import OFFLINE
from tianshou_worker.algorithms.on_policy import ON_POLICY
from tianshou_worker.algorithms.q_learning import Q_LEARNING
from tianshou_worker.algorithms.recipe import Recipe

RECIPES: dict[str, Recipe] = {**ON_POLICY, **Q_LEARNING, **ACTOR_CRITIC, **OFFLINE}
