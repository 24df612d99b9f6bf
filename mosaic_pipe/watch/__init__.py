"""The frames of a run, on whatever machine it runs: for the viewer, the terminal and recordings."""
