"""Events of queues, which wake functions."""
