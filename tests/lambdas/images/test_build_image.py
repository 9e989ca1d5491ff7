"""The function of the worker's image: requests of CloudFormation, ends of builds, and the answers that CloudFormation
gets. ECR is moto; CodeBuild and CloudFormation are servers on the loopback."""

from __future__ import annotations

import hashlib
import json
import socket
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from adapters.custom_resources import NotAnswered
from adapters.image_builds import ImageBuilds
from lambdas.build_image import make_handler
from lambdas.cold_start import Handler
from tests.lambdas.images.services import LOG, PROJECT, REGION, TAG, Clients, CloudFormation, CodeBuild, serving

REPOSITORY = "worker"
IDENTITY = {
    "RequestId": "one",
    "StackId": "arn:aws:cloudformation:eu-central-1:111122223333:stack/tessera-dev-workload/1",
    "LogicalResourceId": "Image",
}


@pytest.fixture
def cloud_formation() -> Iterator[CloudFormation]:
    server = CloudFormation()
    with serving(server):
        yield server


@pytest.fixture
def code_build() -> Iterator[CodeBuild]:
    server = CodeBuild()
    with serving(server):
        yield server


@pytest.fixture
def handle(credentials: None, code_build: CodeBuild) -> Iterator[Handler]:
    with mock_aws():
        boto3.client("ecr", region_name=REGION).create_repository(repositoryName=REPOSITORY)
        clients = Clients(f"http://127.0.0.1:{code_build.server_port}")
        yield make_handler(ImageBuilds(clients, project=PROJECT, repository=REPOSITORY))


def push(tag: str = TAG) -> str:
    """Push an image, and return its digest."""
    media_type = "application/vnd.oci.image.manifest.v1+json"
    config = {"digest": f"sha256:{tag}", "size": 1}
    manifest = json.dumps({"schemaVersion": 2, "mediaType": media_type, "config": config, "layers": []})
    ecr = boto3.client("ecr", region_name=REGION)
    pushed = ecr.put_image(repositoryName=REPOSITORY, imageManifest=manifest, imageTag=tag)
    return pushed["image"]["imageId"]["imageDigest"]


def request(cloud_formation: CloudFormation, type: str = "Create", **fields: Any) -> dict[str, Any]:
    return {
        **IDENTITY,
        "RequestType": type,
        "ResponseURL": f"http://127.0.0.1:{cloud_formation.server_port}/answers/one?X-Amz-Signature=0f",
        "ResourceType": "Custom::WorkerImage",
        "ResourceProperties": {"ServiceToken": "arn:of:the:function", "ServiceTimeout": "3600", "Tag": TAG},
        **({} if type == "Create" else {"PhysicalResourceId": "as before"}),
        **fields,
    }


def test_an_image_that_exists_is_answered_at_once_and_not_built(
    handle: Handler, cloud_formation: CloudFormation, code_build: CodeBuild
) -> None:
    digest = push()
    handle(request(cloud_formation), None)
    created = {**IDENTITY, "Status": "SUCCESS", "Data": {"Digest": digest}, "PhysicalResourceId": "Image"}
    assert cloud_formation.answers == [created]
    assert code_build.builds == {}


def test_a_missing_image_is_built_and_answered_when_the_build_has_ended(
    handle: Handler, cloud_formation: CloudFormation, code_build: CodeBuild
) -> None:
    push("another")
    handle(request(cloud_formation), None)
    assert (len(code_build.builds), cloud_formation.answers) == (1, [])
    digest = push()
    handle(code_build.end("SUCCEEDED"), None)
    [answer] = cloud_formation.answers
    assert (answer["Status"], answer["Data"]) == ("SUCCESS", {"Digest": digest})
    assert answer.items() >= IDENTITY.items()


def test_a_request_that_comes_twice_starts_one_build(
    handle: Handler, cloud_formation: CloudFormation, code_build: CodeBuild
) -> None:
    for _ in range(2):
        handle(request(cloud_formation), None)
    assert len(code_build.builds) == 1


def test_a_failed_build_fails_the_deployment_and_names_its_log(
    handle: Handler, cloud_formation: CloudFormation, code_build: CodeBuild
) -> None:
    handle(request(cloud_formation), None)
    context = {"statusCode": "COMMAND_EXECUTION_ERROR", "message": "Error while executing command: docker build"}
    failed = {"phaseType": "BUILD", "phaseStatus": "FAILED", "contexts": [context]}
    handle(code_build.end("FAILED", failed), None)
    [answer] = cloud_formation.answers
    assert (answer["Status"], answer["PhysicalResourceId"]) == ("FAILED", "Image")
    assert answer["Reason"] == (
        "CodeBuild did not build the worker's image. Build builder:0 ended as FAILED in phase BUILD: Error while"
        f" executing command: docker build. Its log: {LOG}"
    )


@pytest.mark.parametrize(
    ("status", "phases"),
    [
        ("STOPPED", []),
        ("TIMED_OUT", [{"phaseType": "QUEUED", "phaseStatus": "TIMED_OUT"}]),
        ("FAULT", [{"phaseType": "PROVISIONING", "phaseStatus": "FAULT", "contexts": [{"statusCode": "INTERNAL"}]}]),
        ("SUCCEEDED", []),
    ],
)
def test_a_build_that_leaves_no_image_fails_the_deployment_however_it_ended(
    handle: Handler, cloud_formation: CloudFormation, code_build: CodeBuild, status: str, phases: list[dict[str, Any]]
) -> None:
    handle(request(cloud_formation), None)
    handle(code_build.end(status, *phases), None)
    [answer] = cloud_formation.answers
    where = f" in phase {phases[0]['phaseType']}" if phases else ""
    assert (answer["Status"], f" ended as {status}{where}. Its log" in answer["Reason"]) == ("FAILED", True)


def test_a_build_that_ended_before_it_wrote_a_log_is_answered_too(
    handle: Handler, cloud_formation: CloudFormation, code_build: CodeBuild
) -> None:
    handle(request(cloud_formation), None)
    ended = code_build.end("FAULT")
    for build in code_build.builds.values():
        del build["logs"]
    handle(ended, None)
    assert cloud_formation.answers[0]["Reason"].endswith("ended as FAULT. Its log: none was written")


def test_the_longest_failure_fits_into_an_answer(
    handle: Handler, cloud_formation: CloudFormation, code_build: CodeBuild
) -> None:
    handle(request(cloud_formation), None)
    failed = {"phaseType": "BUILD", "phaseStatus": "FAILED", "contexts": [{"message": "x" * 9_000}]}
    handle(code_build.end("FAILED", failed), None)
    assert len(json.dumps(cloud_formation.answers[0])) < 4_096


def test_a_failed_build_of_an_image_that_another_build_pushed_is_no_failure(
    handle: Handler, cloud_formation: CloudFormation, code_build: CodeBuild
) -> None:
    handle(request(cloud_formation), None)
    push()
    handle(code_build.end("FAILED"), None)
    assert cloud_formation.answers[0]["Status"] == "SUCCESS"


@pytest.mark.parametrize("type", ["Create", "Update"])
def test_a_build_that_cannot_start_fails_the_deployment_at_once(
    handle: Handler, cloud_formation: CloudFormation, code_build: CodeBuild, type: str
) -> None:
    code_build.refusal = "AccountLimitExceededException"
    handle(request(cloud_formation, type), None)
    [answer] = cloud_formation.answers
    assert answer["Status"] == "FAILED"
    assert "Cannot have more than 0 builds in queue." in answer["Reason"]


def test_a_registry_that_refuses_fails_the_deployment_at_once(handle: Handler, cloud_formation: CloudFormation) -> None:
    boto3.client("ecr", region_name=REGION).delete_repository(repositoryName=REPOSITORY)
    handle(request(cloud_formation), None)
    [answer] = cloud_formation.answers
    assert (answer["Status"], "RepositoryNotFoundException" in answer["Reason"]) == ("FAILED", True)


def test_a_rollback_returns_to_an_image_that_is_still_there(
    handle: Handler, cloud_formation: CloudFormation, code_build: CodeBuild
) -> None:
    digest = push()
    old = {"Tag": "a new image that failed"}
    handle(request(cloud_formation, "Update", OldResourceProperties=old), None)
    [answer] = cloud_formation.answers
    assert (answer["Data"], code_build.builds) == ({"Digest": digest}, {})


def test_an_update_keeps_the_resource_so_that_nothing_is_replaced(
    handle: Handler, cloud_formation: CloudFormation, code_build: CodeBuild
) -> None:
    handle(request(cloud_formation, "Update"), None)
    push()
    handle(code_build.end("SUCCEEDED"), None)
    assert cloud_formation.answers[0]["PhysicalResourceId"] == "as before"


def test_deletion_builds_nothing_and_leaves_the_images_to_their_repository(
    handle: Handler, cloud_formation: CloudFormation, code_build: CodeBuild
) -> None:
    boto3.client("ecr", region_name=REGION).delete_repository(repositoryName=REPOSITORY)
    handle(request(cloud_formation, "Delete"), None)
    [answer] = cloud_formation.answers
    assert (answer["Status"], answer["PhysicalResourceId"], code_build.builds) == ("SUCCESS", "as before", {})


def test_the_end_of_a_build_that_a_person_started_answers_nobody(
    handle: Handler, cloud_formation: CloudFormation, code_build: CodeBuild
) -> None:
    code_build.start_build({"projectName": PROJECT, "idempotencyToken": "by hand", "environmentVariablesOverride": []})
    handle(code_build.end("FAILED"), None)
    assert cloud_formation.answers == []


def test_an_answer_that_is_not_taken_is_an_error_so_that_lambda_tries_again(
    handle: Handler, cloud_formation: CloudFormation
) -> None:
    push()
    cloud_formation.status = 503
    with pytest.raises(NotAnswered, match="replied 503 to the answer for Image"):
        handle(request(cloud_formation), None)
    cloud_formation.status = 200
    handle(request(cloud_formation), None)
    assert cloud_formation.answers[0] == cloud_formation.answers[1]


def test_an_address_where_nobody_answers_is_an_error_too(handle: Handler, cloud_formation: CloudFormation) -> None:
    push()
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nowhere = f"http://127.0.0.1:{closed.getsockname()[1]}/answers"
    unheard = request(cloud_formation, ResponseURL=nowhere)
    with pytest.raises(NotAnswered, match="could not be reached"):
        handle(unheard, None)


def test_the_request_fits_into_a_variable_of_a_build(
    handle: Handler, cloud_formation: CloudFormation, code_build: CodeBuild
) -> None:
    """CodeBuild takes 5,500 characters in all variables of a build; presigned URLs have some 1,500."""
    longest = request(cloud_formation)
    longest["ResponseURL"] += hashlib.sha512(b"").hexdigest() * 12
    handle(longest, None)
    [build] = code_build.builds.values()
    assert len(json.dumps(build["environment"]["environmentVariables"])) < 5_500
