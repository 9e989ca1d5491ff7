"""Networks of Tessera's own: how each was trained, and its weights."""
