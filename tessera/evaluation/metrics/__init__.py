"""Numbers from counts. Each function works on one slide, on a set, and on all resamples of a set at once."""
