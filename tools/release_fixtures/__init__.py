"""`python -m tools.release_fixtures`: what the last release leaves behind, kept for the tests of the next one."""
