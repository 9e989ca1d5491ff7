"""The header in which the edge passes the caller's address to the gateway."""

from __future__ import annotations

#: Set by functions/api.js on each request through CloudFront. Who calls the gateway's own address can write anything
#: into it.
VIEWER_IP = "x-viewer-ip"
