"""Dead letters in SQL."""
