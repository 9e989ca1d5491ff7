"""Reading slides by byte ranges. Own code: the index, the coalescing, the assembly. Libraries parse and decode."""
