"""The protocols that the use cases need. `adapters` holds the real implementations, `tests/fakes` one of each in
memory."""
