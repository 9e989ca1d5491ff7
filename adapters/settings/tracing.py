"""The destinations of spans: for processes, and for the code that deploys them."""

from __future__ import annotations

from typing import Final

XRAY: Final = "xray"  #: AWS X-Ray; every other value is the path of a file
WRITING: Final = "xray:PutTraceSegments"  #: the right that sending spans takes
