"""What a trained policy is asked to play."""

from typing import Callable

import gymnasium

from mosaic_worker.rl.collecting import collect
from mosaic_worker.rl.evaluation import Policy, evaluate
from mosaic_worker.session import Session
from mosaic_worker.spec import Spec


def play(
    spec: Spec,
    session: Session,
    make_env: Callable[[], gymnasium.Env],
    make_policy: Callable[[gymnasium.Env], Policy],
) -> None:
    """Evaluate the policy, or record what it does, as ``spec.mode`` says; arguments as for both."""
    (collect if spec.mode == "collect" else evaluate)(spec, session, make_env, make_policy)
