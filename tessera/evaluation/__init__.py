"""Compares results with annotations: classes of tiles, labels of slides, outlines of objects."""
