"""Removing what identifies somebody from a slide's files, by writing over bytes where they lie."""
