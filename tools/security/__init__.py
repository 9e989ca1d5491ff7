"""`make check-security`: known faults in the locked packages, and secrets in the tracked files."""
