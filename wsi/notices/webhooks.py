"""Webhooks as Standard Webhooks defines them (https://www.standardwebhooks.com, version 1): their signatures, and the
addresses that they may be sent to (F-60)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import secrets
from collections.abc import Collection, Mapping, Sequence
from urllib.parse import urlsplit

from wsi.errors import Invalid
from wsi.notices.public_addresses import is_public

SECRET_PREFIX = "whsec_"  # noqa: S105  # the form of secrets, no secret
SECRET_BYTES = 32  #: the specification allows 24 to 64
LONGEST_URL = 2048
HTTPS_PORT = 443
PORTS = frozenset({HTTPS_PORT, 8443})  #: a webhook reaches web servers, and no database or mail server


def make_secret() -> str:
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def sign_message(message_id: str, timestamp: int, body: bytes, *, of: Sequence[str]) -> Mapping[str, str]:
    """Return the headers of a message sent at `timestamp` (s since 1970), signed with each secret in `of`: two while a
    receiver changes to a new one."""
    content = f"{message_id}.{timestamp}.".encode() + body
    return {
        "content-type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{_signature(secret, content)}" for secret in of),
    }


def check_url(url: str, ports: Collection[int] = PORTS) -> None:
    """Raise Invalid for a text that cannot be a webhook's address, whatever its host resolves to."""
    try:
        parts = urlsplit(url)
        port = parts.port  # raises for what is none
    except ValueError as error:
        raise Invalid("The webhook's address is not a URL.") from error
    if parts.scheme != "https" or not parts.hostname or parts.username or parts.password or parts.fragment:
        raise Invalid("A webhook's address begins with https:// and holds neither a password nor a fragment.")
    if port is not None and port not in ports:
        raise Invalid(f"A webhook's address has the port {' or '.join(map(str, sorted(ports)))}.")
    if not url.isascii() or not url.isprintable() or " " in url or len(url) > LONGEST_URL:
        raise Invalid(f"A webhook's address is at most {LONGEST_URL} printable ASCII characters without spaces.")
    try:
        literal = ipaddress.ip_address(parts.hostname)
    except ValueError:
        return
    if not is_public(literal):
        raise Invalid("A webhook's address must be reachable from the internet.")


def _signature(secret: str, content: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    return base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
