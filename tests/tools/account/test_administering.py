"""`scripts/administer.sh` against a server that plays CloudFormation and Lambda."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from adapters.operators import PROOF
from tests.adapters.operators.token_service import ADA, REGION

ROOT = Path(__file__).parents[3]
FUNCTION = "tessera-dev-administer"
STACK = f"""<DescribeStacksResponse><DescribeStacksResult><Stacks><member>
<StackName>tessera-dev-data</StackName><StackStatus>CREATE_COMPLETE</StackStatus><CreationTime>2026-01-01T00:00:00Z
</CreationTime><Outputs><member><OutputKey>OwnerAdministerFunction7</OutputKey><OutputValue>{FUNCTION}</OutputValue>
</member></Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>"""


class Cloud(ThreadingHTTPServer):
    """`answer` is the function's; `events` came to it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.answer = "{}"
        self.threw = False
        self.events: list[dict[str, Any]] = []


class _Answering(BaseHTTPRequestHandler):
    server: Cloud

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        is_invocation = self.path == f"/2015-03-31/functions/{FUNCTION}/invocations"
        if is_invocation:
            self.server.events.append(json.loads(body))
        self.send_response(200)
        if self.server.threw:
            self.send_header("X-Amz-Function-Error", "Unhandled")
        answer = (self.server.answer if is_invocation else STACK).encode()
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    server = Cloud()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def run(cloud: Cloud, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    environ |= {"AWS_ACCESS_KEY_ID": str(ADA.access_key), "AWS_SECRET_ACCESS_KEY": str(ADA.secret_key)}
    environ |= {"AWS_REGION": REGION, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{cloud.server_port}"}
    script = ROOT / "scripts/administer.sh"
    return subprocess.run(
        ["bash", script, *arguments],
        env={**environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("answer", "threw", "code"),
    [
        ('{"tenant": "0b"}', False, 0),
        ('{"error": "There is a tenant of that name."}', False, 1),
        ('{"errorMessage": "timed out", "errorType": "Sandbox.Timedout"}', True, 1),
    ],
)
def test_administer_fails_when_its_function_does(cloud: Cloud, answer: str, threw: bool, code: int) -> None:
    cloud.answer, cloud.threw = answer, threw
    done = run(cloud, "dev", '{"list_tenants": {}}')
    assert (done.returncode, done.stdout.strip()) == (code, answer)


def test_the_script_proves_who_asks(cloud: Cloud) -> None:
    run(cloud, "dev", '{"list_tenants": {}}')
    [event] = cloud.events
    assert event.keys() == {"list_tenants", PROOF}
    assert event[PROOF].startswith(f"http://127.0.0.1:{cloud.server_port}/?Action=GetCallerIdentity")
    assert ADA.access_key in event[PROOF]
    assert str(ADA.secret_key) not in json.dumps(event)


@pytest.mark.parametrize("action", ["[]", "{", "5"])
def test_what_is_no_action_is_not_asked(cloud: Cloud, action: str) -> None:
    done = run(cloud, "dev", action)
    assert (done.returncode, cloud.events) == (2, [])
