"""Bodies and answers of the REST API. Bodies forbid fields that they do not know: nothing is accepted and ignored."""
