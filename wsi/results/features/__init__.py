"""Vectors of tiles: kept while they are collected, and written."""
