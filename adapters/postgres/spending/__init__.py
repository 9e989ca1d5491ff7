"""Usage and budgets in SQL."""
