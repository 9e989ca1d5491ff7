"""The digest of a slide: what S3 computes while it stores the parts, computed the same way on a disk.

A file: hex sha256 over the sha256 digests of its 16 MiB parts, and "-<parts>" (S3's composite checksum in hex).
A slide of one file has its file's digest; of several, hex sha256 over their digests in order, joined by newlines.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

PART_SIZE = 16 * 1024 * 1024  #: bytes of every part but the last; fixed, since the digest depends on it


def compute_composite_digest(part_digests: Sequence[str]) -> str:
    """Return the digest of one file. `part_digests` are hex, in the order of the parts."""
    joined = b"".join(bytes.fromhex(digest) for digest in part_digests)
    return f"{hashlib.sha256(joined).hexdigest()}-{len(part_digests)}"


def compute_file_digest(parts: Iterable[bytes | memoryview]) -> str:
    """Return the digest of one file from the bytes of its parts in order; one part is in memory at a time."""
    return compute_composite_digest([hashlib.sha256(part).hexdigest() for part in parts])


def compute_slide_digest(file_digests: Sequence[str]) -> str:
    if len(file_digests) == 1:
        return file_digests[0]
    return hashlib.sha256("\n".join(file_digests).encode()).hexdigest()
