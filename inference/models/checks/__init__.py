"""Checks that a network computes what it must, and what its package promises."""
