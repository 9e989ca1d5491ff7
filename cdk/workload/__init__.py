"""The cluster's workload: its controllers and the workers."""
