"""Slides of a tenant: referenced, restated, archived, deleted."""
