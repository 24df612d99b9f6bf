"""Runs on a Slurm cluster: arrays submitted through submitit, and what each task of one does."""
