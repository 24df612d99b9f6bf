"""Live frames from inside a worker's processes, into shared memory."""
