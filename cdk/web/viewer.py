"""What the edge tells the gateway of who asked."""

from __future__ import annotations

#: Set by functions/api.js on each request through CloudFront. Who calls the gateway's own address can write anything
#: into it.
VIEWER_IP = "x-viewer-ip"
