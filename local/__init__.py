"""The embedded stack: the same handlers and worker on MiniStack, real Postgres and the AppSync protocol."""
