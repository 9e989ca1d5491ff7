"""Mistakes that somebody could make in the stacks, seeded into their templates one by one."""
