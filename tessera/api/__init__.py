"""The client of the REST API: transport, upload, submission, watching, download."""
