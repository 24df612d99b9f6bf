"""From a spec to a supervised run: on this machine, in this process."""
