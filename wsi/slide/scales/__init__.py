"""The scale that a file states in its texts and tags, and what to quote of a text that is not understood."""
