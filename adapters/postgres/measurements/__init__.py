"""Numbers of the whole installation: how it does, and what waits."""
