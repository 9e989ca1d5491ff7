"""The page and the API under one origin."""
