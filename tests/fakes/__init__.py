"""Every port in memory, for tests and benchmarks. They keep the same contracts as the adapters (tests/contracts)."""
