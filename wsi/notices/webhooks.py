"""Webhooks as Standard Webhooks defines them (https://www.standardwebhooks.com, version 1): their signatures, and the
addresses that they may be sent to (F-60)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import secrets
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from wsi.errors import Invalid

SECRET_PREFIX = "whsec_"
SECRET_BYTES = 32  #: the specification allows 24 to 64
LONGEST_URL = 2048
HTTPS_PORT = 443


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


def check_url(url: str) -> None:
    """Raise Invalid for a text that cannot be a webhook's address, whatever its host resolves to."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  # raises for what is no port
    except ValueError as error:
        raise Invalid("The webhook's address is not a URL.") from error
    if parts.scheme != "https" or not parts.hostname or parts.username or parts.password or parts.fragment:
        raise Invalid("A webhook's address begins with https:// and holds neither a password nor a fragment.")
    if not url.isascii() or not url.isprintable() or " " in url or len(url) > LONGEST_URL:
        raise Invalid(f"A webhook's address is at most {LONGEST_URL} printable ASCII characters without spaces.")
    try:
        literal = ipaddress.ip_address(parts.hostname)
    except ValueError:
        return
    if not is_public(literal):
        raise Invalid("A webhook's address must be reachable from the internet.")


def is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Return whether the address belongs to the internet, and not to a network of ours, this machine, or a tunnel into
    either."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo and address.teredo[1])
        if inner:
            return is_public(inner)
        if address in _NAT64:
            return is_public(ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF))
    return address.is_global and not address.is_multicast


_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def _signature(secret: str, content: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    return base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
