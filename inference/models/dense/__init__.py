"""Models that give maps, in which objects are found: their networks, on CPUs and CUDA devices."""
