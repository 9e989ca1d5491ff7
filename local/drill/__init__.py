"""The drill: an embedded stack is backed up, destroyed with its data, and restored next to buckets of other names."""
