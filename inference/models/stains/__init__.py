"""Stains of tiles: their density, their directions, their normalisation."""
