"""Jobs: submitted, estimated, cancelled, retried."""
