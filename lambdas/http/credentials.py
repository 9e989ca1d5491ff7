"""The one spelling of a credential that is accepted, so that whoever counts the Authorization header counts credentials
(cdk/api/firewall.py): another spelling would be another counter.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

_BEARER = re.compile(r"[Bb][Ee][Aa][Rr][Ee][Rr] ([\x21-\x7e]+)")  #: RFC 6750; the scheme's case is free (RFC 9110)
_BARE = re.compile(r"[\x21-\x7e]+")
_TOKEN = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.([A-Za-z0-9_-]+)")


def read_credential(event: Mapping[str, Any]) -> str | None:
    """Return the credential of an authorizer's event: "Bearer <credential>" from API Gateway (its token, or the header
    of a REQUEST event), the bare credential from AppSync. Return None for any other form."""
    headers: Mapping[str, str] = event.get("headers") or {}
    by_name = {name.lower(): value for name, value in headers.items()}
    raw: str = event.get("authorizationToken") or by_name.get("authorization") or ""
    if "methodArn" in event:
        found = _BEARER.fullmatch(raw)
        return found[1] if found else None
    return raw if _BARE.fullmatch(raw) else None


def is_canonical_token(token: str) -> bool:
    """Return whether a signed token is written as its issuer writes it (RFC 7515). Decoders skip characters that are
    not base64url and the unused bits of the last one, and the signature does not cover itself: without this check
    anybody could write one token in many ways."""
    found = _TOKEN.fullmatch(token)
    if found is None:
        return False
    signature = found[1]
    try:
        decoded = base64.urlsafe_b64decode(signature + "=" * (-len(signature) % 4))
    except binascii.Error:
        return False
    return base64.urlsafe_b64encode(decoded).rstrip(b"=").decode() == signature
