"""Every port in memory: for tests, and for one process that runs without services."""
