"""The mosaic-pipe command."""
