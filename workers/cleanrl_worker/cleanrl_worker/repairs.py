"""Where the scripts of 2023 meet libraries of today: what these have dropped since, given back from outside."""

import functools
import importlib.util
from pathlib import Path
from typing import Any

from mosaic_worker.imports import when_imported


def install() -> None:
    """Have each library repaired when a script imports it."""
    when_imported("stable_baselines3.common.buffers", _replay_buffer)
    when_imported("jax", _jax)
    when_imported("flax.training.train_state", _train_state)
    when_imported("pettingzoo.atari.base_atari_env", _pettingzoo_roms)
    when_imported("huggingface_hub", _local_hub)


def _replay_buffer(buffers: Any) -> None:
    """``c51_atari`` asks for two options that Stable-Baselines3 no longer takes together, and needs but the first."""
    original = buffers.ReplayBuffer.__init__

    @functools.wraps(original)
    def init(
        self: Any,
        *args: Any,
        optimize_memory_usage: bool = False,
        handle_timeout_termination: bool = True,
        **kwargs: Any,
    ) -> None:
        both = optimize_memory_usage and handle_timeout_termination
        original(
            self,
            *args,
            optimize_memory_usage=optimize_memory_usage,
            handle_timeout_termination=handle_timeout_termination and not both,
            **kwargs,
        )
        self.handle_timeout_termination = handle_timeout_termination

    buffers.ReplayBuffer.__init__ = init


def _jax(jax: Any) -> None:
    if not hasattr(jax, "tree_map"):
        jax.tree_map = jax.tree_util.tree_map


def _train_state(module: Any) -> None:
    """Parameters may be any tree, as in flax before 0.8: two scripts keep theirs in a dataclass."""
    import optax

    def create(cls: Any, /, *, apply_fn: Any, params: Any, tx: Any, **kwargs: Any) -> Any:
        return cls(step=0, apply_fn=apply_fn, params=params, tx=tx, opt_state=tx.init(params), **kwargs)

    def apply_gradients(self: Any, *, grads: Any, **kwargs: Any) -> Any:
        updates, opt_state = self.tx.update(grads, self.opt_state, self.params)
        params = optax.apply_updates(self.params, updates)
        return self.replace(step=self.step + 1, params=params, opt_state=opt_state, **kwargs)

    module.TrainState.create, module.TrainState.apply_gradients = classmethod(create), apply_gradients


def _pettingzoo_roms(module: Any) -> None:
    """The ROMs that ale-py ships, in the place of AutoROM's."""
    found = importlib.util.find_spec("ale_py")
    roms = str(Path(found.origin).parent / "roms") if found and found.origin else None
    original = module.ParallelAtariEnv.__init__

    @functools.wraps(original)
    def init(self: Any, *args: Any, auto_rom_install_path: str | None = None, **kwargs: Any) -> None:
        original(self, *args, auto_rom_install_path=auto_rom_install_path or roms, **kwargs)

    module.ParallelAtariEnv.__init__ = init


def _local_hub(hub: Any) -> None:
    """A folder may stand where the name of a repository on the hub is expected: QDagger's teacher."""
    original = hub.hf_hub_download

    def hf_hub_download(repo_id: str, filename: str, **kwargs: Any) -> str:
        if Path(repo_id).is_dir():
            return str(Path(repo_id) / filename)
        downloaded: str = original(repo_id=repo_id, filename=filename, **kwargs)
        return downloaded

    hub.hf_hub_download = hf_hub_download
