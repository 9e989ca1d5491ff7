"""The records of the audit log."""
