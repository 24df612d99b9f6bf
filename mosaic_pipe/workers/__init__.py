"""Which workers exist, and the virtualenvs they live in."""
