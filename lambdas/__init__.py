"""One handler a file: parse, call one use case, map. `wiring.py` builds the adapters once per cold start."""
