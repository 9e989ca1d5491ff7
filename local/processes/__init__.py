"""Processes of an embedded stack: started, watched, stopped."""
