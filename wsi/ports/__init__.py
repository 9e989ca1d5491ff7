"""The protocols that the use cases need. `wsi/memory` ships an implementation of each; adapters hold the real ones."""
