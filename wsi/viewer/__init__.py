"""Slides opened for a viewer: levels and tiles."""
