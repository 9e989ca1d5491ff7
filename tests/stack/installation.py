"""A lab's view of the embedded stack: upload, ask, wait, read what came out."""

from __future__ import annotations

from client.local_files import local_files  # noqa: F401
