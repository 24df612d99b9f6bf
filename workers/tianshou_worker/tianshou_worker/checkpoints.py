"""Checkpoint files of this worker.

Beside what all have: ``algorithm`` (networks, optimisers, …), ``buffer``, ``environments`` (what each went through
since its last reset), ``random`` (generators).
"""

from mosaic_worker.rl.checkpoint_files import CheckpointFiles

CHECKPOINTS = CheckpointFiles("tianshou", 1)
