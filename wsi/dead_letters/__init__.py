"""Dead letters: messages that were received too often. They are kept in SQL, and what they were about is told."""
