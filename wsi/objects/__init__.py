"""Objects of dense outputs, found tile by tile and the same whatever the tiles."""
