"""What to run: the typed RunSpec, its composition, validation and identity."""
