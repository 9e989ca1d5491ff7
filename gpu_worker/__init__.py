"""The worker: lease, compute, commit. What computes is `inference`."""
