"""Decoding on all cores: the tasks (`decode_tasks`), and the workers that carry them out (`threads`, `processes`)."""
