"""What imagecodecs decodes for us: bytes of a tile to its samples, each size checked first."""
