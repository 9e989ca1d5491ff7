"""What runs on the cluster: its controllers and the workers."""
