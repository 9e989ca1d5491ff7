"""Tries model packages before they take jobs."""
