"""The recovery of an installation: its database was restored, and its objects are in buckets of other names."""
