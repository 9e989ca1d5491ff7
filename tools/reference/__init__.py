"""The pages of docs/reference that are generated: `make reference` writes them, a test compares them with the code."""
