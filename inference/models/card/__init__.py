"""`card.json`: its fields, its rules, and the sentences about its mistakes."""
