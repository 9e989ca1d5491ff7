"""CloudFormation, and what a deployment needs besides: the CDK's bootstrap, code in S3, a role to work in."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import ClientError

from adapters.aws_clients import AwsClients

QUALIFIER = "hnb659fds"  #: of `cdk bootstrap`, by default
BOOTSTRAP_VERSION = "30"  #: the newest that the templates ask about is 6
LOOK_SECONDS = 0.1
_COUNTS = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)


class DeploymentFailed(Exception):
    """A deployment failed; the message is the service's."""


class Deploying:
    """One account and region."""

    def __init__(self, clients: AwsClients) -> None:
        self._clients = clients
        self.account: str = clients.get_client("sts").get_caller_identity()["Account"]

    @property
    def asset_bucket(self) -> str:
        return f"cdk-{QUALIFIER}-assets-{self.account}-{self._clients.region}"

    def bootstrap(self) -> None:
        """Make what templates need of `cdk bootstrap`."""
        placed = {"LocationConstraint": self._clients.region}
        self._clients.s3.create_bucket(Bucket=self.asset_bucket, CreateBucketConfiguration=placed)
        self._clients.get_client("ssm").put_parameter(
            Name=f"/cdk-bootstrap/{QUALIFIER}/version", Value=BOOTSTRAP_VERSION, Type="String"
        )

    def upload(self, key: str, path: Path) -> None:
        with path.open("rb") as body:
            self._clients.s3.put_object(Bucket=self.asset_bucket, Key=key, Body=body)

    def create_stack(
        self, name: str, template: Mapping[str, Any], parameters: Mapping[str, str], *, seconds: float
    ) -> dict[str, str]:
        """Create the stack and return its outputs. Raises DeploymentFailed, naming the resources that failed."""
        key = f"templates/{name}.json"
        self._clients.s3.put_object(Bucket=self.asset_bucket, Key=key, Body=json.dumps(template).encode())
        declared = template.get("Parameters", {})
        try:
            self._cloudformation.create_stack(
                StackName=name,
                TemplateURL=f"{self._clients.endpoint_url}/{self.asset_bucket}/{key}",
                Capabilities=["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM"],
                Parameters=[
                    {"ParameterKey": parameter, "ParameterValue": value}
                    for parameter, value in parameters.items()
                    if parameter in declared
                ],
            )
        except ClientError as error:
            raise DeploymentFailed(f"{name}: {error.response['Error']['Message']}") from error
        stack = self._wait(name, seconds=seconds)
        if stack["StackStatus"] != "CREATE_COMPLETE":
            raise DeploymentFailed(f"{name} is {stack['StackStatus']}: {self._failures(name)}")
        return {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", [])}

    def invoke(self, function: str, event: Mapping[str, Any]) -> Any:
        """Invoke the function and return its answer. Raises DeploymentFailed with what it raised."""
        answer = self._clients.get_client("lambda").invoke(FunctionName=function, Payload=json.dumps(event).encode())
        returned = json.loads(answer["Payload"].read() or b"null")
        if "FunctionError" in answer:
            raise DeploymentFailed(f"{function}: {returned.get('errorMessage') if returned else 'no answer'}")
        return returned

    def assume_role(self, role: str, *, name: str) -> dict[str, str]:
        """Assume the role and return its credentials, as a process's environment holds them."""
        made = self._clients.get_client("sts").assume_role(RoleArn=role, RoleSessionName=name)["Credentials"]
        return {
            "AWS_ACCESS_KEY_ID": made["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": made["SecretAccessKey"],
            "AWS_SESSION_TOKEN": made["SessionToken"],
        }

    def may_write(self, credentials: Mapping[str, str], bucket: str) -> bool:
        """Return whether the holder of these credentials can put an object."""
        session = boto3.Session(
            aws_access_key_id=credentials["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=credentials["AWS_SECRET_ACCESS_KEY"],
            aws_session_token=credentials["AWS_SESSION_TOKEN"],
            region_name=self._clients.region,
        )
        store: Any = session.client("s3", endpoint_url=self._clients.endpoint_url)
        try:
            store.put_object(Bucket=bucket, Key="may-this-be-written", Body=b"")
        except ClientError as error:
            if error.response["Error"]["Code"] == "AccessDenied":
                return False
            raise
        return True

    def list_versions(self, bucket: str) -> tuple[str, ...]:
        """Return the keys of all versions of all objects."""
        pages = self._clients.s3.get_paginator("list_object_versions").paginate(Bucket=bucket)
        return tuple(version["Key"] for page in pages for version in page.get("Versions", []))

    def count_messages(self, prefix: str) -> dict[str, int]:
        """Count the messages, visible, delayed and in flight, of each queue whose name begins with `prefix`; the keys
        lack it."""
        urls: list[str] = self._clients.sqs.list_queues(QueueNamePrefix=prefix).get("QueueUrls", [])
        counts: dict[str, int] = {}
        for url in urls:
            answer = self._clients.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[*_COUNTS])["Attributes"]
            counts[url.rpartition("/")[2].removeprefix(prefix)] = sum(int(answer[name]) for name in _COUNTS)
        return counts

    def count_invocations(self, function: str) -> int:
        """Return the number of invocations, from its log: MiniStack's metrics leave out what a queue or the gateway
        invokes."""
        return sum(line.startswith("START RequestId:") for line in self.read_log(function))

    def read_log(self, function: str) -> list[str]:
        """Return the lines of a function's log, oldest first."""
        config = self._clients.get_client("lambda").get_function_configuration(FunctionName=function)
        group = config["LoggingConfig"]["LogGroup"]
        pages = self._clients.get_client("logs").get_paginator("filter_log_events").paginate(logGroupName=group)
        return [event["message"] for page in pages for event in page["events"]]

    def list_physical_names(self, stack: str, type: str) -> dict[str, str]:
        """Return physical names by logical id."""
        pages = self._cloudformation.get_paginator("list_stack_resources").paginate(StackName=stack)
        found = (resource for page in pages for resource in page["StackResourceSummaries"])
        return {one["LogicalResourceId"]: one["PhysicalResourceId"] for one in found if one["ResourceType"] == type}

    @property
    def _cloudformation(self) -> Any:
        return self._clients.get_client("cloudformation")

    def _wait(self, name: str, *, seconds: float) -> dict[str, Any]:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            stack = self._cloudformation.describe_stacks(StackName=name)["Stacks"][0]
            if not stack["StackStatus"].endswith("IN_PROGRESS"):
                return stack
            time.sleep(LOOK_SECONDS)
        raise DeploymentFailed(f"{name} was not deployed within {seconds:.0f} s.")

    def _failures(self, name: str) -> str:
        events = self._cloudformation.describe_stack_events(StackName=name)["StackEvents"]
        failed = [event for event in events if event["ResourceStatus"].endswith("FAILED")]
        return "; ".join(f"{event['LogicalResourceId']}: {event.get('ResourceStatusReason', '')}" for event in failed)
