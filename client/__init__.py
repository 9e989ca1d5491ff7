"""The Python client of the REST API, and the `tessera` command."""
