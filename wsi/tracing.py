"""W3C trace context: one trace id from the upload of a slide to the last line that a worker logs about it.

https://www.w3.org/TR/trace-context/#traceparent-header
"""

from __future__ import annotations

import re
import secrets
import time
from datetime import timedelta

#: Work on a slide that was created earlier begins a trace of its own: X-Ray accepts spans of a trace for some days, and
#: a waterfall over months shows nothing.
JOINED_AGE = timedelta(days=1)
_TRACEPARENT = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


def make_traceparent() -> str:
    """Return the `traceparent` of a new, sampled trace. Its id begins with the seconds of the epoch, as AWS X-Ray's
    ids do: X-Ray finds a trace by that time."""
    return f"00-{int(time.time()):08x}{secrets.token_hex(12)}-{secrets.token_hex(8)}-01"


def is_traceparent(text: str | None) -> bool:
    """Return whether the text is a well-formed `traceparent` of version 00."""
    return text is not None and _TRACEPARENT.fullmatch(text) is not None


def continue_trace(traceparent: str | None) -> str:
    """Return the `traceparent` of a new span in the caller's trace, or of a new trace if the caller has none or a
    malformed one."""
    if traceparent is None or not is_traceparent(traceparent):
        return make_traceparent()
    version, trace, _, flags = traceparent.split("-")
    return f"{version}-{trace}-{secrets.token_hex(8)}-{flags}"


def move_to_trace(traceparent: str, other: str) -> str:
    """Return the `traceparent` of the same span in the trace of `other`."""
    return "-".join((*other.split("-")[:2], *traceparent.split("-")[2:]))


def read_span_id(traceparent: str | None) -> str | None:
    """Return the id of the span that the `traceparent` names; None for a malformed one."""
    return traceparent.split("-")[2] if traceparent is not None and is_traceparent(traceparent) else None
