"""Records about the operation of an installation: what was used, and which messages died."""
