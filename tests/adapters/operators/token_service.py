"""An AWS Security Token Service that checks signatures as AWS does, by computing them again."""

from __future__ import annotations

import hmac
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from botocore.auth import SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

REGION = "eu-central-1"
ACCOUNT = "123456789012"
ADA = Credentials("AKIDADA", "secret-of-ada")
ARN = f"arn:aws:sts::{ACCOUNT}:assumed-role/Operators/ada"


class TokenServer(ThreadingHTTPServer):
    """Knows ADA; `account` is what it says of her, and `asked` are the requests that reached it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.account = ACCOUNT
        self.status = 200
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Answering(BaseHTTPRequestHandler):
    server: TokenServer

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        status = self.server.status if self._is_signed() else 403
        body = (
            "<GetCallerIdentityResponse><GetCallerIdentityResult>"
            f"<Arn>{ARN}</Arn><Account>{self.server.account}</Account>"
            "</GetCallerIdentityResult></GetCallerIdentityResponse>"
            if status == 200
            else "<ErrorResponse><Error><Code>SignatureDoesNotMatch</Code></Error></ErrorResponse>"
        ).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _is_signed(self) -> bool:
        target, _, given = self.path.partition("&X-Amz-Signature=")
        query = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        names = query["X-Amz-SignedHeaders"].split(";")
        signed = {name: self.headers[name] or "" for name in names}
        request = AWSRequest("GET", f"http://{self.headers['Host']}{target}", headers=signed)
        request.context["timestamp"] = query["X-Amz-Date"]
        signer = SigV4QueryAuth(ADA, "sts", REGION)
        expected = signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request)
        return hmac.compare_digest(expected, given)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serve_tokens() -> Iterator[TokenServer]:
    server = TokenServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
