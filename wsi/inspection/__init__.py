"""Inspection: the facts that are collected about a slide once it is uploaded."""
