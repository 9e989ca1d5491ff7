"""Measurements. Each prints its numbers and the machine that they hold for."""
