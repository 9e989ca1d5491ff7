"""The API's plumbing: requests, problems, CORS, its description."""
