"""Writes an evaluation as JSON, CSV and drawings, and prints it."""
