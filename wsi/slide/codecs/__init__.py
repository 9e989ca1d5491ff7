"""The decoders of tiles, from bytes to samples. Each checks the coded size before it decodes."""
