"""The ledger on Postgres: SQL is the truth. One method is one transaction."""
