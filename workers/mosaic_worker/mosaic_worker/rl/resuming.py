"""What training with any library does about its checkpoints: what goes in, what fits, who comes back to where it was.

Checkpoints here are what :class:`~mosaic_worker.rl.checkpoint_files.CheckpointFiles` loads.
"""

from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, Sequence

from mosaic_worker.errors import UserError
from mosaic_worker.rl.training_env import TrainingEnv
from mosaic_worker.session import Session
from mosaic_worker.spec import Spec


def buffer_fits(size: int, spec: Spec, session: Session) -> bool:
    """Whether a replay buffer of ``size`` bytes goes into checkpoints; where not, the user is told."""
    megabytes = spec.checkpoint.replay_buffer_mb
    if size <= megabytes * 2**20:
        return True
    session.warning(
        f"the replay buffer is over checkpoint.replay_buffer_mb={megabytes}: "
        "it is not in the checkpoint, and a resumed run fills it anew"
    )
    return False


@contextmanager
def fitting(path: Path) -> Iterator[None]:
    """Refuse the checkpoint at ``path`` where a library finds that its state does not fit.

    Raises:
        UserError: other networks, other sizes.
    """
    try:
        yield
    except (RuntimeError, ValueError, KeyError) as error:
        raise UserError(f"{path}: does not fit this run: {error}") from error


def refuse_used_up(path: Path, loaded: Dict[str, Any], *, last: int) -> None:
    """Refuse a checkpoint after which nothing is left to do.

    Args:
        path: where it is.
        loaded: what is in it.
        last: environment steps from which training can still go on.

    Raises:
        UserError: it was taken later.
    """
    if loaded["env_steps"] > last:
        raise UserError(f"{path}: the checkpoint has used up this budget: {loaded['env_steps']} steps were taken")


def refuse_other_count(path: Path, saved: int, wanted: int) -> None:
    """Refuse a checkpoint of ``saved`` environments in a run that has ``wanted``.

    Raises:
        UserError: they are not as many.
    """
    if saved != wanted:
        raise UserError(f"{path}: does not fit this run: it has {saved} environments, and algo.num_envs is {wanted}")


def come_back(
    envs: Sequence[TrainingEnv], loaded: Dict[str, Any], spec: Spec, session: Session, reset: Callable[[], Any]
) -> None:
    """Bring environments to where those of the checkpoint were; ``reset`` resets them all, as the library does it."""
    if is_of_another_env(loaded, spec, session):
        reset()
        return
    for env, saved in zip(envs, loaded["environments"]):
        env.restore(saved)
    reset()
    tell_restarted(sum(env.restarted for env in envs), session)


def is_of_another_env(loaded: Dict[str, Any], spec: Spec, session: Session) -> bool:
    """Whether the checkpoint is of another environment; the user is told."""
    if loaded["env_id"] == spec.env.id:
        return False
    session.warning(f"the checkpoint is of {loaded['env_id']}: the environments begin new episodes")
    return True


def tell_restarted(count: int, session: Session) -> None:
    """Tell the user of environments that could not be brought back."""
    if count:
        session.warning(f"{count} environments did not come to where they were: new episodes")
