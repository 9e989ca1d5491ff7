"""Connections of commands and the Python client to an installation, and the fields that they state."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from tessera.api.rest import Api
from tessera.api.transport import Transport
from tessera.local_run.inputs import UsageError
from wsi.errors import NotFound, SourceUnavailable


def make_transport(api: str, api_key: str) -> Transport:
    """Return a transport with a key. Raises UsageError for a key that cannot be one."""
    if not (api_key.isascii() and api_key.isprintable()):
        raise UsageError("the API key holds characters that no key has")
    return Transport(api, api_key)


@contextmanager
def open_transport(api: str, api_key: str) -> Generator[Transport]:
    """Yield a transport with a key, and close it. Raises UsageError for a key that cannot be one."""
    transport = make_transport(api, api_key)
    try:
        yield transport
    finally:
        transport.close()


def drop_unset(**values: Any) -> dict[str, Any]:
    """Return the fields of a request that are set."""
    return {name: value for name, value in values.items() if value}


def find_subscription_url(api: Api) -> str | None:
    """Return the URL for subscribing to job updates. None also when the API cannot be asked: the call that follows then
    reports it."""
    try:
        return api.find_realtime_url()
    except (NotFound, SourceUnavailable):
        return None
