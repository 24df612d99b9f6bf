"""What canonical PPO has and RLlib's loss lacks, through the library's own places for such things."""

from typing import Any

import torch
from ray.rllib.algorithms.ppo.torch.ppo_torch_learner import PPOTorchLearner
from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.core.columns import Columns
from ray.rllib.evaluation.postprocessing import Postprocessing


class ClippedValueLearner(PPOTorchLearner):
    """Also clips how far an update may move the values, by ``clip_param``.

    The value loss is the larger of the squared errors of the new value and of the new value clipped to the old one's
    neighbourhood. RLlib's ``vf_clip_param`` is another thing: it bounds the loss itself.
    """

    def build(self) -> None:
        """Add the old values to the batches."""
        super().build()
        self._learner_connector.append(OldValues())

    def compute_loss_for_module(
        self, *, module_id: str, config: Any, batch: dict[str, Any], fwd_out: dict[str, Any]
    ) -> Any:
        """RLlib's loss, and by how much clipping makes the value loss larger."""
        loss = super().compute_loss_for_module(module_id=module_id, config=config, batch=batch, fwd_out=fwd_out)
        values = self.module[module_id].unwrapped().compute_values(batch, embeddings=fwd_out.get(Columns.EMBEDDINGS))
        old, targets = batch[Columns.VF_PREDS], batch[Postprocessing.VALUE_TARGETS]
        clipped = old + torch.clamp(values - old, -config.clip_param, config.clip_param)
        excess = torch.relu((clipped - targets) ** 2 - (values - targets) ** 2)
        mask = batch.get(Columns.LOSS_MASK)
        return loss + config.vf_loss_coeff * (excess if mask is None else excess[mask]).mean()


class OldValues(ConnectorV2):
    """The values before the update, in each module's batch."""

    def __call__(self, *, rl_module: Any, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        """RLlib calls it once for a training batch."""
        with torch.no_grad():
            for module_id, columns in batch.items():
                columns[Columns.VF_PREDS] = rl_module[module_id].compute_values(columns)
        return batch
