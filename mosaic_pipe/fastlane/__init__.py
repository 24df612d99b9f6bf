"""Live frames: the shared memory of a run, and reading what its environments show there."""
