"""The ledger on Postgres: SQL is the truth. One method is one transaction; the sweep has one for each kind of
repair."""
