"""Traces of jobs, found and drawn as waterfalls."""
