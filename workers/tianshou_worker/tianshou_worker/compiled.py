"""Tianshou's loops, compiled by being imported: each process does it with its first buffer, for seconds.

A sweep's runs are forked from a process that has done it.
"""

from tianshou.data import VectorReplayBuffer

VectorReplayBuffer(1, 1)
