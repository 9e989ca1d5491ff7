"""Names that the writers and the readers of traces share."""

from __future__ import annotations

from typing import Final

PREFIX: Final = "tessera."  #: of the names of attributes in a file
SERVICE: Final = "service.name"  #: OpenTelemetry's attribute of the process
OURS: Final = "tessera"  #: namespace of the metadata in X-Ray's documents


def format_trace_id(trace_id: str) -> str:
    """Return X-Ray's form of a W3C trace id."""
    return f"1-{trace_id[:8]}-{trace_id[8:]}"
