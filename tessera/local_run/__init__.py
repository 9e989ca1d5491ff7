"""Runs of models over slides on this machine, without a service."""
