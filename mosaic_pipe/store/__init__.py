"""Runs on disk: directories, manifests, provenance."""
