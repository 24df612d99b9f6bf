"""The web page: runs, curves and live frames in a browser. It reads; nothing here changes a run."""
