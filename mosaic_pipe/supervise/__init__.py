"""One attempt of one run: spawn, signals, limits, liveness, the state machine."""
