"""The simulation's small end beside the embedded stack: constants fitted on one pattern of arrivals, compared on
another."""
