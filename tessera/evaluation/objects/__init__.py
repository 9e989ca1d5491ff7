"""Matches found objects with annotated ones and scores the matching."""
