"""Takes, extends and settles the leases of shards, with their messages."""
