"""The audit log: its lines, the chain that their hashes form, and its verification."""
