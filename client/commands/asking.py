"""What commands that ask an installation share."""

from __future__ import annotations

from typing import Any

from client.inputs import UsageError
from client.transport import Transport


def transport_to(api: str, api_key: str) -> Transport:
    """Raises UsageError."""
    if not (api_key.isascii() and api_key.isprintable()):
        raise UsageError("the API key holds characters that no key has")
    return Transport(api, api_key)


def stated(**values: Any) -> dict[str, Any]:
    """Return the fields of a request that are set."""
    return {name: value for name, value in values.items() if value}
