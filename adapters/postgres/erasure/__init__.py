"""Deletion that erases: rows lose what identifies somebody, and objects are known to be gone."""
