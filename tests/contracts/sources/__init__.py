"""What holds for the sources of tenants, on every ledger and every store of slides."""
