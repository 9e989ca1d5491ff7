"""The function that sends one webhook. It is outside the VPC and has no rights, since a customer chose the URL (F-60).

The address is looked up once, checked, and then connected to, so that a name cannot answer the check with one address
and the connection with another. Redirects are not followed.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
from collections.abc import Callable, Collection, Sequence
from typing import Any
from urllib.parse import urlsplit

from adapters.settings.processes import WebhookSendSettings
from lambdas.cold_start import Handler, make_entry
from lambdas.logs import make_logger
from wsi.errors import Invalid
from wsi.notices.public_addresses import is_public
from wsi.notices.webhooks import HTTPS_PORT, PORTS, check_url
from wsi.records.webhooks import WebhookRequest

logger = make_logger("webhook_send")

SECONDS = 5.0  #: to connect, and between two bytes of the answer; the function's timeout bounds the whole
MOST_BYTES = 1024  #: read of an answer, which nothing uses

Resolve = Callable[[str, int], Sequence[str]]  #: host and port to addresses
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def resolve(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a host. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


def make_handler(
    _: WebhookSendSettings,
    *,
    resolve: Resolve = resolve,
    allowed: Callable[[Address], bool] = is_public,
    ports: Collection[int] = PORTS,
    trust: ssl.SSLContext | None = None,
    seconds: float = SECONDS,
) -> Handler:
    """Return the handler. `trust` None: the authorities that this system trusts. `seconds`: see SECONDS."""
    context = trust or ssl.create_default_context()

    def handle(event: dict[str, Any], _: Any) -> dict[str, Any]:
        request = WebhookRequest.from_json(event)
        answer = _send(request, resolve=resolve, allowed=allowed, ports=ports, trust=context, seconds=seconds)
        logger.info("sent", extra={"answer": answer})  # not the URL: it may hold a token
        return answer

    return handle


def _send(
    request: WebhookRequest,
    *,
    resolve: Resolve,
    allowed: Callable[[Address], bool],
    ports: Collection[int],
    trust: ssl.SSLContext,
    seconds: float,
) -> dict[str, Any]:
    try:
        check_url(request.url, ports)
        parts = urlsplit(request.url)
        host, port = parts.hostname or "", parts.port or HTTPS_PORT
        address = _address(resolve(host, port), allowed)
    except Invalid as error:
        return {"error": error.sentence}
    except (OSError, ValueError):
        return {"error": "The webhook's host has no address."}
    connection = _Pinned(host, port, address, trust, seconds)
    try:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("POST", target, body=request.body, headers={**request.headers, "user-agent": "Tessera"})
        answer = connection.getresponse()
        answer.read(MOST_BYTES)
    except ssl.SSLCertVerificationError:
        return {"error": "The webhook's host has no valid certificate."}
    except TimeoutError:
        return {"error": "The receiver did not answer in time."}
    except (OSError, http.client.HTTPException):
        return {"error": "The receiver cannot be reached."}
    finally:
        connection.close()
    if 300 <= answer.status < 400:
        return {"error": f"The receiver answered {answer.status}: redirects are not followed."}
    return {"status": answer.status}


def _address(found: Sequence[str], allowed: Callable[[Address], bool]) -> str:
    """Return the first address. Raises Invalid unless all are public: a name with one public and one private address is
    no accident."""
    if not found:
        raise Invalid("The webhook's host has no address.")
    if not all(allowed(ipaddress.ip_address(address)) for address in found):
        raise Invalid("The webhook's host is not on the internet.")
    return found[0]


class _Pinned(http.client.HTTPSConnection):
    """A connection to `address` and to no other; the certificate must be the host's."""

    def __init__(self, host: str, port: int, address: str, trust: ssl.SSLContext, seconds: float) -> None:
        super().__init__(host, port, timeout=seconds, context=trust)
        self._address = address
        self._trust = trust

    def connect(self) -> None:
        plain = socket.create_connection((self._address, self.port), timeout=self.timeout)
        self.sock = self._trust.wrap_socket(plain, server_hostname=self.host)


handler = make_entry(WebhookSendSettings, make_handler)
