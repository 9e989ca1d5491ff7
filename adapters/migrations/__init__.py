"""The schema's history: expand, then contract; never back. `adapters.postgres.migrate` runs it."""
