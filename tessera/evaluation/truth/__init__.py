"""Reads annotations and labels, and finds those of a slide."""
