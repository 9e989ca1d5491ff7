"""The function that opens customers' URLs, against a real TLS server."""

from __future__ import annotations

import base64
import datetime
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from adapters.settings.processes import WebhookSendSettings
from lambdas.webhook_send import SECONDS, make_handler

HOST = "lab.example"


def certificate(folder: Path, host: str) -> Path:
    """Self-signed, so that it is its own authority; with its key in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = folder / f"{host}.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    pem.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return pem


@dataclass
class Receiver:
    port: int
    trust: ssl.SSLContext
    status: int = 204
    pause: float = 0.0  #: s until it answers
    heard: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)

    def send(self, url: str | None = None, *, address: str = "127.0.0.1", **options: Any) -> dict[str, Any]:
        handler = make_handler(
            WebhookSendSettings(),
            **{
                "resolve": lambda host, port: [address],
                "allowed": lambda _: True,
                "trust": self.trust,
                "ports": {self.port, 443, 9},
                **options,
            },
        )
        event = {
            "url": url or f"https://{HOST}:{self.port}/hook?token=x",
            "headers": {"webhook-id": "1"},
            "body": base64.b64encode(b"{}").decode(),
        }
        return handler(event, None)


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Receiver]:
    pem = certificate(tmp_path, HOST)
    trust = ssl.create_default_context(cafile=str(pem))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            found.heard.append((self.path, dict(self.headers), body))
            time.sleep(found.pause)
            self.send_response(found.status)
            self.send_header("Location", "https://elsewhere.example/")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.handle_error = lambda request, client_address: None  # a refused handshake is what some tests want
    found = Receiver(server.server_address[1], trust)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield found
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_bytes_arrive_with_their_headers(receiver: Receiver) -> None:
    assert receiver.send() == {"status": 204}
    ((path, headers, body),) = receiver.heard
    assert (path, body) == ("/hook?token=x", b"{}")
    assert headers["webhook-id"] == "1"
    assert headers["Host"] == f"{HOST}:{receiver.port}"


def test_the_receivers_refusal_is_its_status(receiver: Receiver) -> None:
    receiver.status = 500
    assert receiver.send() == {"status": 500}


def test_a_redirect_is_not_followed(receiver: Receiver) -> None:
    receiver.status = 302
    assert receiver.send() == {"error": "The receiver answered 302: redirects are not followed."}
    assert len(receiver.heard) == 1


def test_a_receiver_that_does_not_answer_is_given_up(receiver: Receiver) -> None:
    receiver.pause = 1.0
    assert receiver.send(seconds=0.2) == {"error": "The receiver did not answer in time."}
    assert SECONDS <= 5.0


def test_the_address_that_was_checked_is_connected_to(receiver: Receiver) -> None:
    asked: list[str] = []

    def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["127.0.0.2"]

    assert receiver.send(resolve=resolve) == {"status": 204}
    assert asked == [HOST]  # a second look-up could have answered otherwise


#: The last four: Azure's platform, IPv4-compatible, site-local, and a local translator to 10.0.0.1.
PRIVATE = ("127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1")
FORGOTTEN = ("168.63.129.16", "::127.0.0.1", "fec0::1", "64:ff9b:1::a00:1")


@pytest.mark.parametrize("address", [*PRIVATE, *FORGOTTEN])
def test_a_host_of_a_private_network_hears_nothing(receiver: Receiver, address: str) -> None:
    handler_default = make_handler(
        WebhookSendSettings(), resolve=lambda host, port: ["8.8.8.8", address], trust=receiver.trust
    )
    event = {"url": f"https://{HOST}:8443/", "headers": {}, "body": ""}
    assert handler_default(event, None) == {"error": "The webhook's host is not on the internet."}
    assert receiver.heard == []


def test_a_certificate_of_another_host_is_refused(receiver: Receiver) -> None:
    url = f"https://other.example:{receiver.port}/"
    assert receiver.send(url) == {"error": "The webhook's host has no valid certificate."}
    assert receiver.heard == []


def test_an_authority_that_nobody_knows_is_refused(receiver: Receiver) -> None:
    trust = ssl.create_default_context()
    assert receiver.send(trust=trust) == {"error": "The webhook's host has no valid certificate."}


def test_a_plain_address_is_refused_before_anything_is_looked_up(receiver: Receiver) -> None:
    answer = receiver.send("http://lab.example/", resolve=lambda host, port: pytest.fail("looked up"))
    assert "https" in answer["error"]


def test_a_host_without_an_address(receiver: Receiver) -> None:
    def resolve(host: str, port: int) -> list[str]:
        raise OSError("no such host")

    assert receiver.send(resolve=resolve) == {"error": "The webhook's host has no address."}


@pytest.mark.parametrize("port", [0, 22, 80, 5432, 8080, 65535])
def test_no_server_but_a_web_server_is_reached(receiver: Receiver, port: int) -> None:
    handler = make_handler(WebhookSendSettings(), resolve=lambda host, port: pytest.fail("looked up"))
    event = {"url": f"https://{HOST}:{port}/", "headers": {}, "body": ""}
    assert handler(event, None) == {"error": "A webhook's address has the port 443 or 8443."}


def test_a_closed_port(receiver: Receiver) -> None:
    assert receiver.send(f"https://{HOST}:9/") == {"error": "The receiver cannot be reached."}
