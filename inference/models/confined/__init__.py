"""Runs models that are code in processes of their own, which reach nothing but their package and their tiles."""
