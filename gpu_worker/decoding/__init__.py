"""Decoding and copying on all cores: what is done (`jobs`), and who does it (`threads`, `processes`)."""
