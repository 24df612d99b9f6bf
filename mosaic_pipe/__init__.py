"""Run RL libraries, unmodified, as isolated workers: Hydra configs in, one manifest per run out."""

__version__ = "0.1.0"
