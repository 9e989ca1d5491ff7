"""The schema's history: expand, then contract; never back. `adapters.postgres.owner.migrate` runs it."""
