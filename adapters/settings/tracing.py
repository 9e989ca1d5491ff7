"""The destinations of spans: for processes, and for the code that deploys them."""

from __future__ import annotations

from typing import Final

XRAY: Final = "xray"  #: AWS X-Ray; every other value is the path of a file
WRITING: Final = "xray:PutTraceSegments"  #: the right that sending spans takes

#: Metric of functions, each under its own `service`, that exists once a span could not be sent.
SPANS_LOST: Final = "SpansLost"
NAMESPACE: Final = "tessera-traces"  #: of this metric; installations of one account share it
