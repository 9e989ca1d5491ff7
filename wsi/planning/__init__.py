"""The plan of a job: mask, grid, scale, shards, and what it would cost."""
