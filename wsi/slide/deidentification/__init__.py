"""De-identification of a slide's files: the bytes that identify somebody are overwritten in place."""
