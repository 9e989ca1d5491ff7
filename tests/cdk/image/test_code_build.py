"""The worker's image, built by CodeBuild: its project, what starts and ends a build, and who waits for it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from moto.events.models import EventPattern

from cdk.image.code_build import KEPT_IMAGES, SERVICE_MINUTES
from cdk.versions import BUILD_IMAGE
from tests.cdk import test_bundling as bundling
from tests.cdk import test_fixed_names as names
from tests.cdk import test_stacks as stacks
from tests.cdk.faults.fault import Fact
from tests.cdk.manifests import objects
from tests.cdk.policies import Statement, statements
from tests.cdk.templates import Resource, Templates

PATH = "workload/ImageBuild"
PROJECT, ROLE, RULE, IMAGE = (
    f"{PATH}/{name}" for name in ("Project/Resource", "ProjectRole", "Ended/Resource", "Image")
)
ENDS = ("SUCCEEDED", "FAILED", "STOPPED", "TIMED_OUT", "FAULT")


@pytest.fixture(params=["dev_by_codebuild", "furnished"])
def templates(request: pytest.FixtureRequest) -> Templates:
    """Each preset in turn, the second with a pinned base too."""
    return request.getfixturevalue(request.param)


#: What holds of every deployment.
GENERAL = (
    *(stacks.test_no_stack_exports_a_value_F57, stacks.test_a_stack_comes_after_those_whose_values_it_takes),
    *(stacks.test_the_cdk_warns_of_nothing, stacks.test_no_custom_resource_comes_unseen),
    *(
        stacks.test_every_log_group_is_encrypted_and_forgets,
        stacks.test_every_function_of_ours_has_a_log_group_of_its_own,
    ),
    bundling.test_each_function_is_deployed_with_the_bundle_that_has_its_handler,
    *(names.test_every_fixed_name_has_one_reason, names.test_only_AWS_itself_can_write_to_a_group_that_it_recreates),
)


def find(templates: Templates, path: str) -> dict[str, Any]:
    return templates.by_path()[path]["Properties"]


def find_id(templates: Templates, path: str) -> str:
    wanted = templates.by_path()[path]
    return next(id for id, resource, _ in templates.all_resources() if resource is wanted)


def find_image(templates: Templates) -> Resource:
    return templates.resource("Custom::WorkerImage", "workload")


def read_variables(templates: Templates) -> dict[str, Any]:
    return {one["Name"]: one["Value"] for one in find(templates, PROJECT)["Environment"]["EnvironmentVariables"]}


def list_commands(templates: Templates) -> list[str]:
    return json.loads(find(templates, PROJECT)["Source"]["BuildSpec"])["phases"]["build"]["commands"]


def list_awaited(templates: Templates, id: str) -> set[str]:
    """All resources that CloudFormation makes before this one, by logical id."""
    resources = {id: resource for id, resource, noun in templates.all_resources() if noun == "workload"}
    found: set[str] = set()
    rest = [id]
    while rest:
        resource = resources[rest.pop()]
        text = json.dumps(resource.get("Properties", {}))
        named = re.findall(r'"(?:Ref|Fn::GetAtt)": \[?"(\w+)"', text) + list(resource.get("DependsOn", []))
        new = {one for one in named if one in resources} - found
        found |= new
        rest += new
    return found


def of_role(templates: Templates, path: str) -> list[Statement]:
    return [one for one in statements(templates) if one.path == f"{path}/DefaultPolicy/Resource"]


def test_docker_runs_in_a_maintained_image_for_the_workers_platform(templates: Templates) -> None:
    environment = find(templates, PROJECT)["Environment"]
    assert environment["PrivilegedMode"] is True
    assert environment["Type"] == "LINUX_CONTAINER"
    assert environment["Image"] == f"aws/codebuild/{BUILD_IMAGE.name}:{BUILD_IMAGE.version}"
    assert " --platform linux/amd64 " in " ".join(list_commands(templates))


def test_the_tag_is_the_hash_of_the_context(templates: Templates) -> None:
    location = find(templates, PROJECT)["Source"]["Location"]["Fn::Join"][1][-1]
    [digest] = re.findall(r"^/([0-9a-f]{64})\.zip$", location)
    assert read_variables(templates)["TAG"] == digest
    assert find_image(templates)["Properties"]["Tag"] == digest


def test_the_rule_hears_every_end_of_a_build_of_this_project(templates: Templates) -> None:
    pattern = find(templates, RULE)["EventPattern"]
    project = find_id(templates, PROJECT)
    resolved = json.loads(json.dumps(pattern).replace(json.dumps({"Ref": project}), '"ours"'))

    def is_heard(status: str, project: str = "ours") -> bool:
        detail = {"project-name": project, "build-status": status}
        event = {"source": "aws.codebuild", "detail-type": "CodeBuild Build State Change", "detail": detail}
        return EventPattern(None, resolved).matches_event(event)

    assert [status for status in ENDS if not is_heard(status)] == []
    assert not is_heard("IN_PROGRESS")
    assert not is_heard("SUCCEEDED", project="another")


def test_the_rule_may_call_the_function_that_starts_builds(templates: Templates) -> None:
    function = find_image(templates)["Properties"]["ServiceToken"]
    [target] = find(templates, RULE)["Targets"]
    assert target["Arn"] == function
    permissions = [one["Properties"] for one in templates.resources("AWS::Lambda::Permission", "workload").values()]
    source = {"Fn::GetAtt": [find_id(templates, RULE), "Arn"]}
    assert [one["FunctionName"] for one in permissions if one.get("SourceArn") == source] == [function]


def test_cloudformation_waits_longer_than_a_build_may_take_and_not_for_ever(templates: Templates) -> None:
    waits = int(find_image(templates)["Properties"]["ServiceTimeout"])
    project = find(templates, PROJECT)
    assert 60 * (project["TimeoutInMinutes"] + project["QueuedTimeoutInMinutes"]) + 300 <= waits <= 3600
    [target] = find(templates, RULE)["Targets"]
    assert target["RetryPolicy"]["MaximumEventAgeInSeconds"] == waits == 60 * SERVICE_MINUTES


def test_a_build_starts_when_all_is_there_that_it_needs_and_that_hears_its_end(templates: Templates) -> None:
    awaited = list_awaited(templates, find_id(templates, f"{IMAGE}/Default"))
    permission = next(path for path in templates.by_path() if path.startswith(f"{PATH}/Ended/AllowEventRule"))
    needed = (PROJECT, f"{ROLE}/DefaultPolicy/Resource", RULE, permission, f"{PATH}/Repository/Resource")
    assert [path for path in needed if find_id(templates, path) not in awaited] == []


def test_all_that_runs_the_image_waits_for_it_and_names_its_digest(templates: Templates) -> None:
    digest = f"⟦{json.dumps({'Fn::GetAtt': [find_id(templates, f'{IMAGE}/Default'), 'Digest']})}⟧"
    pods = [one["spec"]["jobTargetRef"]["template"]["spec"] for one in objects(templates, "ScaledJob")]
    images = [pod["containers"][0]["image"] for pod in pods]
    assert len(images) == 2
    fetched = [
        container["image"]
        for one in objects(templates, "Deployment")
        for container in one["spec"]["template"]["spec"].get("initContainers", ())
    ]
    assert bool(fetched) == bool(templates.deployment.warm_nodes)
    assert [image for image in (*images, *fetched) if not image.endswith(f"@{digest}")] == []
    repository = json.dumps({"Ref": find_id(templates, f"{PATH}/Repository/Resource")})
    assert {image.count(f"⟦{repository}⟧@") for image in images} == {1}


def test_the_project_reads_its_context_pushes_to_its_repository_and_writes_its_log(templates: Templates) -> None:
    allowed = {action: one.resources for one in of_role(templates, ROLE) for action in one.actions}
    repository, log = (
        {"Fn::GetAtt": [find_id(templates, f"{PATH}/{name}/Resource"), "Arn"]} for name in ("Repository", "Log")
    )
    [token] = allowed.pop("ecr:GetAuthorizationToken")
    assert token == "*"
    for action, [resource] in allowed.items():
        match action.partition(":")[0]:
            case "ecr":
                assert resource == repository
            case "logs":
                assert resource == log
            case _:
                assert f"{read_variables(templates)['TAG']}.zip" in str(resource) or action.startswith("s3:GetBucket")
    assert set(allowed) == {
        *("s3:GetObject", "s3:GetObjectVersion", "s3:GetBucketAcl", "s3:GetBucketLocation"),
        *("ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:CompleteLayerUpload"),
        *("ecr:InitiateLayerUpload", "ecr:PutImage", "ecr:UploadLayerPart"),
        *("logs:CreateLogStream", "logs:PutLogEvents"),
    }


def test_the_function_may_start_builds_of_its_project_and_look_for_images(templates: Templates) -> None:
    project, repository = (
        {"Fn::GetAtt": [find_id(templates, f"{PATH}/{name}/Resource"), "Arn"]} for name in ("Project", "Repository")
    )
    allowed = {
        action: one.resources
        for one in of_role(templates, f"{PATH}/BuildImageRole")
        for action in one.actions
        if not action.startswith(("logs:", "xray:"))
    }
    assert allowed == {
        "codebuild:StartBuild": [project],
        "codebuild:BatchGetBuilds": [project],
        "ecr:DescribeImages": [repository],
    }


def test_images_are_encrypted_never_replaced_and_gone_with_the_stack(templates: Templates) -> None:
    [repository] = templates.resources("AWS::ECR::Repository").values()
    properties = repository["Properties"]
    assert "data" in json.dumps(properties["EncryptionConfiguration"]["KmsKey"])
    assert properties["EncryptionConfiguration"]["EncryptionType"] == "KMS"
    assert properties["ImageTagMutability"] == "IMMUTABLE"
    assert (repository["DeletionPolicy"], properties["EmptyOnDelete"]) == ("Delete", True)


def test_old_images_stay_for_a_rollback_and_the_oldest_go(templates: Templates) -> None:
    [repository] = templates.resources("AWS::ECR::Repository").values()
    [rule] = json.loads(repository["Properties"]["LifecyclePolicy"]["LifecyclePolicyText"])["rules"]
    assert rule["selection"] == {"tagStatus": "any", "countType": "imageCountMoreThan", "countNumber": KEPT_IMAGES}
    assert KEPT_IMAGES >= 5


def test_the_build_writes_to_a_log_group_of_ours(templates: Templates) -> None:
    log = find(templates, PROJECT)["LogsConfig"]["CloudWatchLogs"]
    group = templates.resources("AWS::Logs::LogGroup", "workload")[log["GroupName"]["Ref"]]["Properties"]
    assert group["RetentionInDays"] == templates.deployment.log_days
    assert "KmsKeyId" in group


def test_packages_come_by_the_ordinary_network(templates: Templates) -> None:
    assert "VpcConfig" not in find(templates, PROJECT)
    assert "VpcConfig" not in find(templates, f"{PATH}/BuildImage/Resource")


@pytest.mark.parametrize("fact", GENERAL, ids=lambda fact: fact.__name__)
def test_what_holds_of_every_deployment_holds_with_codebuild(templates: Templates, fact: Fact) -> None:
    fact(templates)


@pytest.fixture
def commands(tmp_path: Path) -> Iterator[Path]:
    """Stand-ins for docker and for AWS's command, which write down how they were called."""
    for name in ("aws", "docker"):
        command = tmp_path / name
        command.write_text(f'#!/bin/sh\necho "{name} $*" >> {tmp_path}/calls\n')
        command.chmod(0o755)
    return tmp_path


def test_the_commands_sign_in_build_and_push(templates: Templates, commands: Path) -> None:
    base = templates.deployment.worker_base
    variables = {"REPOSITORY": "1.dkr.ecr.eu-central-1.amazonaws.com/worker", "TAG": "0f"} | (
        {"BASE": base} if base else {}
    )
    assert variables.keys() == read_variables(templates).keys()
    environment = {**variables, "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"}
    for command in list_commands(templates):
        subprocess.run(["sh", "-c", command], env=environment, check=True)
    aws, build, login, push = sorted((commands / "calls").read_text().splitlines())
    image = f"{variables['REPOSITORY']}:0f"
    assert (aws, push) == ("aws ecr get-login-password", f"docker push {image}")
    assert login.endswith("--password-stdin 1.dkr.ecr.eu-central-1.amazonaws.com")
    assert build.endswith(f" --tag {image} .")
    assert (" --build-arg BASE " in build) == bool(base)
