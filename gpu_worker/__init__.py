"""The worker: lease, fetch, decode, batch, forward, write, commit."""
