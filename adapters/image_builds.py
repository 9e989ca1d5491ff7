"""The builds of the worker's image on CodeBuild, and the images of them in ECR."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from adapters.aws_clients import AwsClients

REQUEST = "REQUEST"  #: variable of a build: who waits for it
_LONGEST_MESSAGE = 500  #: of a failed phase: an answer to CloudFormation has 4,096 bytes


class ImageCallRefused(Exception):
    """ECR or CodeBuild refused a call, for the reason that AWS gives."""

    def __init__(self, refusal: ClientError) -> None:
        error = refusal.response["Error"]
        self.sentence = f"{refusal.operation_name} answered {error['Code']}: {error['Message']}"
        super().__init__(self.sentence)


@dataclass(frozen=True, slots=True)
class EndedBuild:
    id: str
    outcome: str  #: the status, with the phase that failed and its messages
    log: str  #: address of the log, if the build came so far
    request: str | None  #: what `start_build` was given; None: somebody started the build by hand


class ImageBuilds:
    """The builds of one project, which pushes to one repository."""

    def __init__(self, clients: AwsClients, *, project: str, repository: str) -> None:
        self._clients = clients
        self._project = project
        self._repository = repository

    def find_digest(self, tag: str) -> str | None:
        """Return the digest of the image with this tag, or None without one. Raises ImageCallRefused."""
        ecr = self._clients.get_client("ecr")
        try:
            found = ecr.describe_images(repositoryName=self._repository, imageIds=[{"imageTag": tag}])
        except ecr.exceptions.ImageNotFoundException:
            return None
        except ClientError as error:
            raise ImageCallRefused(error) from error
        return found["imageDetails"][0]["imageDigest"]

    def start_build(self, request: str, *, token: str) -> str:
        """Start a build that carries `request`, and return its id. The same `token` within five minutes starts no
        second one. Raises ImageCallRefused."""
        variable = {"name": REQUEST, "value": request, "type": "PLAINTEXT"}
        try:
            started = self._clients.get_client("codebuild").start_build(
                projectName=self._project, idempotencyToken=token, environmentVariablesOverride=[variable]
            )
        except ClientError as error:
            raise ImageCallRefused(error) from error
        return started["build"]["id"]

    def read_build(self, arn: str) -> EndedBuild:
        """Return a build that has ended, by the ARN that its event names."""
        id = arn.rpartition("/")[2]
        [build] = self._clients.get_client("codebuild").batch_get_builds(ids=[id])["builds"]
        variables = {one["name"]: one["value"] for one in build["environment"]["environmentVariables"]}
        return EndedBuild(
            id=build["id"],
            outcome=_describe_outcome(build),
            log=build.get("logs", {}).get("deepLink", "none was written"),
            request=variables.get(REQUEST),
        )


def _describe_outcome(build: Mapping[str, Any]) -> str:
    status = build["buildStatus"]
    for phase in build["phases"]:
        if phase.get("phaseStatus", "SUCCEEDED") != "SUCCEEDED":
            messages = "; ".join(one["message"] for one in phase.get("contexts", ()) if one.get("message"))
            return f"{status} in phase {phase['phaseType']}" + (f": {messages[:_LONGEST_MESSAGE]}" if messages else "")
    return status
