"""The audit log: verification of its chain, its files, and the views that it records once."""
