"""Locks: all packages that something installs, each with its version and the hashes of its files."""
