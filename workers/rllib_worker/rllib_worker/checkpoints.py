"""Checkpoint files of this worker.

RLlib's own checkpoints are pickles, which execute what is in them. These hold the same state as plain containers and
tensors. Beside what all have: ``algorithm`` (networks, optimisers, counters), ``left_out`` (of the learners' state, by
RLlib), ``buffer`` (for replay; None: the algorithm has none), ``runners`` (for each env runner its environments and
generators), ``random`` (the driver's generators), ``learning_rate``.
"""

from mosaic_worker.rl.checkpoint_files import CheckpointFiles

CHECKPOINTS = CheckpointFiles("rllib", 1)
