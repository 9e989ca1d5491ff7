"""One router a noun. A route parses, calls one use case or the ledger, and maps the answer."""
