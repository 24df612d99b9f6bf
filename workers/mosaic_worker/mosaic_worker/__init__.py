"""The kit inside every worker's virtualenv: standard library only, Python 3.8 or newer."""

__version__ = "0.1.0"
