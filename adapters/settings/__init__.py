"""Settings: one frozen class a process, read from the environment there and written by whoever deploys it."""
