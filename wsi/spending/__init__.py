"""Usage and budgets: reports, notices."""
