"""CloudFormation, which takes answers, and CodeBuild, which builds, as servers on the loopback. moto can let no build
fail, and forgets the variables of one."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from adapters.aws_clients import AwsClients

REGION, PROJECT, TAG = "eu-central-1", "builder", "0f" * 32
LOG = "https://console.aws.amazon.com/cloudwatch/home#logEvent:group=/builds;stream=1"
_ARN = f"arn:aws:codebuild:{REGION}:111122223333:build/"


class CloudFormation(ThreadingHTTPServer):
    """Takes answers; replies with `status`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _TakeAnswers)
        self.status = 200
        self.answers: list[dict[str, Any]] = []


class _TakeAnswers(BaseHTTPRequestHandler):
    server: CloudFormation

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        # What the URL is signed for: S3 would refuse another type.
        assert self.headers["Content-Type"] == ""
        assert self.path == "/answers/one?X-Amz-Signature=0f"
        self.server.answers.append(json.loads(body))
        self.send_response(self.server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class CodeBuild(ThreadingHTTPServer):
    """Starts builds and tells of them; `refusal` is the code of an error instead."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _AnswerCalls)
        self.refusal: str | None = None
        self.builds: dict[str, dict[str, Any]] = {}  #: by id
        self._ids: dict[str, str] = {}  #: by token

    def start_build(self, call: Mapping[str, Any]) -> dict[str, Any]:
        assert call["projectName"] == PROJECT
        id = self._ids.setdefault(call["idempotencyToken"], f"{PROJECT}:{len(self._ids)}")
        variables = [{"name": "TAG", "value": TAG, "type": "PLAINTEXT"}, *call["environmentVariablesOverride"]]
        self.builds.setdefault(
            id,
            {
                "id": id,
                "buildStatus": "IN_PROGRESS",
                "environment": {"environmentVariables": variables},
                "logs": {"deepLink": LOG},
                "phases": [{"phaseType": "QUEUED"}],
            },
        )
        return {"build": self.builds[id]}

    def end(self, status: str, *phases: dict[str, Any]) -> dict[str, Any]:
        """End the only build, and return the event of it."""
        [(id, build)] = self.builds.items()
        submitted = {"phaseType": "SUBMITTED", "phaseStatus": "SUCCEEDED"}
        build |= {"buildStatus": status, "phases": [submitted, *phases, {"phaseType": "COMPLETED"}]}
        return {
            "detail-type": "CodeBuild Build State Change",
            "detail": {"build-status": status, "project-name": PROJECT, "build-id": f"{_ARN}{id}"},
        }


class _AnswerCalls(BaseHTTPRequestHandler):
    server: CodeBuild

    def do_POST(self) -> None:
        call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.server.refusal:
            self._send(400, {"__type": self.server.refusal, "message": "Cannot have more than 0 builds in queue."})
        elif self.headers["X-Amz-Target"].endswith(".StartBuild"):
            self._send(200, self.server.start_build(call))
        else:
            builds = [self.server.builds[one] for one in call["ids"]]
            self._send(200, {"builds": builds})

    def _send(self, status: int, answer: object) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Clients(AwsClients):
    """ECR as moto imitates it, and CodeBuild at an address of this machine."""

    def __init__(self, code_build_url: str) -> None:
        super().__init__(REGION)
        self._made = {"codebuild": AwsClients(REGION, code_build_url).get_client("codebuild")}


@contextmanager
def serving(server: ThreadingHTTPServer) -> Iterator[str]:
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
