"""The worker trains what XuanCe trains when it is called by hand: the same networks, to the last bit."""

from __future__ import annotations

from pathlib import Path

from machine import Machine
from xuance_machine import inside, spec_file

BY_HAND = Path(__file__).parent / "by_hand.py"
OFF_POLICY = ["algo.learning_starts=400", "algo.buffer_size=1600", "total_timesteps=1600"]
RUNS = {
    "ppo": ["total_timesteps=1024"],
    "qmix": ["algo=qmix", "env=mpe_simple_spread", *OFF_POLICY],
    "maddpg": ["algo=maddpg", "env=mpe_simple_spread_continuous", *OFF_POLICY],
}


def test_the_same_as_by_hand(machine: Machine) -> None:
    files = [str(spec_file(machine, name, "seed=4", *overrides)) for name, overrides in RUNS.items()]
    compared = inside(machine, BY_HAND, *files)
    assert compared.keys() == RUNS.keys()
    for tensors, different in compared.values():
        assert tensors > 8
        assert different == []
