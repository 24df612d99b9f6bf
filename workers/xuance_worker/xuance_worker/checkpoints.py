"""Checkpoint files of this worker.

Beside what all have: ``agent`` (networks, optimisers, …), ``memory`` (the replay buffer), ``environments`` (what each
went through since its last reset), ``random`` (generators).
"""

from mosaic_worker.rl.checkpoint_files import CheckpointFiles

CHECKPOINTS = CheckpointFiles("xuance", 1)
