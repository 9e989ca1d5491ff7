"""The page's content security policy: one for CloudFront and for the embedded stack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def make_page_policy(*, connect: Sequence[str], images: Sequence[str]) -> str:
    """Return the policy. `connect`: origins, besides the page's own, that scripts may call; `images`: origins that
    images may come from."""
    directives: Mapping[str, Sequence[str]] = {
        "default-src": ("'none'",),
        "script-src": ("'self'",),
        "style-src": ("'self'",),
        "font-src": ("'self'",),
        "img-src": ("'self'", "data:", "blob:", *images),
        "connect-src": ("'self'", *connect),
        "worker-src": ("'self'",),
        "manifest-src": ("'self'",),
        "base-uri": ("'none'",),
        "form-action": ("'self'",),
        "frame-ancestors": ("'none'",),
    }
    return "; ".join(f"{name} {' '.join(sources)}" for name, sources in directives.items())
