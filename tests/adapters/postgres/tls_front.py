"""TLS in front of the embedded Postgres, whose binaries have none: answers Postgres's question for it, then relays."""

from __future__ import annotations

import datetime
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_SSL_REQUEST = 8  #: bytes of the message with which a client asks for TLS


def self_signed(folder: Path, name: str) -> Path:
    """A PEM file with key and certificate, which is its own authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / f"{name}.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    return file


@contextmanager
def tls_front(certificate: Path, port: int) -> Iterator[int]:
    """The port of 127.0.0.1 on which Postgres at `port` speaks TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=_serve, args=(server, context, port), daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join(5)


def _serve(server: socket.socket, context: ssl.SSLContext, port: int) -> None:
    while True:
        try:
            client, _ = server.accept()
        except OSError:  # closed
            return
        threading.Thread(target=_relay, args=(client, context, port), daemon=True).start()


def _relay(client: socket.socket, context: ssl.SSLContext, port: int) -> None:
    with client:
        client.recv(_SSL_REQUEST, socket.MSG_WAITALL)
        client.sendall(b"S")
        try:
            encrypted = context.wrap_socket(client, server_side=True)
        except OSError:  # the client does not trust us
            return
        with encrypted, socket.create_connection(("127.0.0.1", port)) as backend:
            up = threading.Thread(target=_copy, args=(encrypted, backend), daemon=True)
            up.start()
            _copy(backend, encrypted)
            up.join(5)


def _copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while chunk := source.recv(65_536):
            target.sendall(chunk)
        target.shutdown(socket.SHUT_WR)
    except OSError:  # the other side hung up
        return
