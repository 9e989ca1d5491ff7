"""W3C trace context: one trace id from the request that made a job to the last line that a worker logs about it.

https://www.w3.org/TR/trace-context/#traceparent-header
"""

from __future__ import annotations

import re
import secrets

_TRACEPARENT = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


def make_traceparent() -> str:
    """Return the `traceparent` of a new, sampled trace."""
    return f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-01"


def continue_trace(traceparent: str | None) -> str:
    """Return the `traceparent` of a new span in the caller's trace, or of a new trace if the caller has none or a
    malformed one."""
    if traceparent is None or not _TRACEPARENT.fullmatch(traceparent):
        return make_traceparent()
    version, trace, _, flags = traceparent.split("-")
    return f"{version}-{trace}-{secrets.token_hex(8)}-{flags}"
