"""Services of AWS that moto lacks, as a server on the loopback: what it answers is set by the test, by operation."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

import boto3

REGION = "eu-central-1"
#: Answered here; the others by moto.
FAKED = frozenset({"acm", "cloudformation", "service-quotas", "lambda", "eks", "rds", "sesv2"})
_PATHS = {
    "/2016-08-19/account-settings": "GetAccountSettings",
    "/cluster-versions": "DescribeClusterVersions",
    "/v2/email/account": "GetAccount",
    "/v2/email/identities": "GetEmailIdentity",
}


class AwsAnswers(ThreadingHTTPServer):
    """`answers`: by operation, a body as JSON or XML, or an error as (status, code).

    `GetServiceQuota/<code>` is one quota's, and likewise its default's. `DescribeStacks/<name>` and
    `ListStackResources/<name>` are one stack's; without them there is none.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.answers: dict[str, Any] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Answering(BaseHTTPRequestHandler):
    server: AwsAnswers

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        operation = self.headers.get("X-Amz-Target", "").partition(".")[2]
        if not operation:
            query = {name: values[0] for name, values in parse_qs(body.decode()).items()}
            operation = query["Action"]
            if "StackName" in query:
                operation += f"/{query['StackName']}"
                if operation not in self.server.answers:
                    self._send(400, _no_stack(query["StackName"]))
                    return
        elif operation.endswith("ServiceQuota"):
            operation += f"/{json.loads(body)['QuotaCode']}"
        self._answer(operation)

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        self._answer(next(name for start, name in _PATHS.items() if path.startswith(start)))

    def _answer(self, operation: str) -> None:
        answer = self.server.answers[operation]
        status = 200
        if isinstance(answer, tuple):
            status, code = answer
            answer = {"__type": code, "message": f"{code} of the test"}
            self._send(status, json.dumps(answer), code)
        else:
            self._send(status, answer if isinstance(answer, str) else json.dumps(answer))

    def _send(self, status: int, text: str, code: str | None = None) -> None:
        self.send_response(status)
        if code:
            self.send_header("x-amzn-ErrorType", code)
        body = text.encode()
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


class MixedClients:
    """Clients of the fake for what moto lacks, and of moto for the rest."""

    def __init__(self, fake: AwsAnswers, region: str = REGION) -> None:
        self._fake, self._region = fake, region
        self._made: dict[str, Any] = {}

    def get_client(self, service: str) -> Any:
        if service not in self._made:
            endpoint = self._fake.url if service in FAKED else None
            self._made[service] = boto3.client(service, region_name=self._region, endpoint_url=endpoint)
        return self._made[service]


def _no_stack(name: str) -> str:
    message = f"Stack with id {name} does not exist"
    return f"<ErrorResponse><Error><Code>ValidationError</Code><Message>{message}</Message></Error></ErrorResponse>"


def xml(operation: str, result: str) -> str:
    return f"<{operation}Response><{operation}Result>{result}</{operation}Result></{operation}Response>"


@contextmanager
def answering(answers: Mapping[str, Any]) -> Iterator[AwsAnswers]:
    with AwsAnswers() as server:
        server.answers.update(answers)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()
