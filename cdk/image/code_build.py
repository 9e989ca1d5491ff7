"""The worker's image, built by CodeBuild while the stack is deployed, for deployers without docker
(docs/decisions/0113)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from adapters.settings.processes import ImageBuildSettings
from cdk.bundling import AssetKind
from cdk.deployment import Deployment
from cdk.image.recipe import DOCKERFILE, BuildContext, make_build_args
from cdk.log_group import LogGroup
from cdk.python_function import PythonFunction
from cdk.versions import BUILD_IMAGE

#: The newest ones. A rollback to an older image builds it again.
KEPT_IMAGES = 10
#: CloudFormation waits for an hour at most. A build that waits or hangs ends before, so that its own log is named.
BUILD_MINUTES, QUEUE_MINUTES, SERVICE_MINUTES = 40, 10, 60
#: To push, as ECR's documentation lists it.
_PUSHING = (
    *("ecr:BatchCheckLayerAvailability", "ecr:InitiateLayerUpload", "ecr:UploadLayerPart", "ecr:CompleteLayerUpload"),
    *("ecr:PutImage", "ecr:BatchGetImage"),
)


class ImageBuild(Construct):
    """`image_uri`, with the image's digest: what names it waits for the build.

    A custom resource asks for the image of this context. Its function starts the build, and a rule calls the function
    again when a build has ended; nothing polls.
    """

    def __init__(
        self, scope: Construct, id: str, *, deployment: Deployment, key: kms.IKey, log_key: kms.IKey, root: Path
    ) -> None:
        super().__init__(scope, id)
        arguments = make_build_args(deployment)
        steps = _make_steps(arguments)
        context = BuildContext(self, "Context", root=root, how=[steps, arguments])
        repository = ecr.Repository(
            self,
            "Repository",
            encryption=ecr.RepositoryEncryption.KMS,
            encryption_key=key,
            image_tag_mutability=ecr.TagMutability.IMMUTABLE,
            image_scan_on_push=True,
            lifecycle_rules=[ecr.LifecycleRule(description="the newest images", max_image_count=KEPT_IMAGES)],
            # A later deployment builds them again, whatever else keeps_data keeps.
            removal_policy=cdk.RemovalPolicy.DESTROY,
            empty_on_delete=True,
        )
        log_group = LogGroup(self, "Log", deployment=deployment, key=log_key)
        role = self._make_role(context=context, repository=repository, log_group=log_group)
        project = codebuild.Project(
            self,
            "Project",
            description="Builds the image of the workers",
            # The CDK would widen it by wildcards, and by a log group of another name.
            role=role.without_policy_updates(),
            source=codebuild.Source.s3(bucket=context.bucket, path=context.s3_object_key),
            environment=codebuild.BuildEnvironment(
                build_image=codebuild.LinuxBuildImage.from_code_build_image_id(
                    f"aws/codebuild/{BUILD_IMAGE.name}:{BUILD_IMAGE.version}"
                ),
                compute_type=codebuild.ComputeType.MEDIUM,  # the image unpacks to 5 GB, and this type has 128 GB
                privileged=True,  # for the docker daemon in it
            ),
            environment_variables={
                name: codebuild.BuildEnvironmentVariable(value=value)
                for name, value in {
                    "REPOSITORY": repository.repository_uri,
                    "TAG": context.asset_hash,
                    **arguments,
                }.items()
            },
            build_spec=codebuild.BuildSpec.from_object(steps),
            logging=codebuild.LoggingOptions(cloud_watch=codebuild.CloudWatchLoggingOptions(log_group=log_group)),
            timeout=cdk.Duration.minutes(BUILD_MINUTES),
            queued_timeout=cdk.Duration.minutes(QUEUE_MINUTES),
            grant_report_group_permissions=False,
        )
        project.node.add_dependency(role)
        function = self._make_function(deployment=deployment, log_key=log_key, project=project, repository=repository)
        ended = events.Rule(
            self,
            "Ended",
            description="Builds of the worker's image that have ended, in whatever way",
            event_pattern=events.EventPattern(
                source=["aws.codebuild"],
                detail_type=["CodeBuild Build State Change"],
                detail={
                    "project-name": [project.project_name],
                    "build-status": events.Match.anything_but("IN_PROGRESS"),
                },
            ),
            # After that, CloudFormation waits no more.
            targets=[targets.LambdaFunction(function, max_event_age=cdk.Duration.minutes(SERVICE_MINUTES))],
        )
        image = cdk.CustomResource(
            self,
            "Image",
            resource_type="Custom::WorkerImage",
            service_token=function.function_arn,
            service_timeout=cdk.Duration.minutes(SERVICE_MINUTES),
            properties={"Tag": context.asset_hash, "Repository": repository.repository_name},
        )
        image.node.add_dependency(ended)  # and on all that a build needs, by its function, whose settings name it
        self.image_uri = f"{repository.repository_uri}@{image.get_att_string('Digest')}"

    def _make_role(self, *, context: BuildContext, repository: ecr.Repository, log_group: LogGroup) -> iam.Role:
        role = iam.Role(self, "ProjectRole", assumed_by=iam.ServicePrincipal("codebuild.amazonaws.com"))

        def allow(actions: tuple[str, ...], resource: str) -> None:
            role.add_to_policy(iam.PolicyStatement(actions=list(actions), resources=[resource]))

        allow(("s3:GetObject", "s3:GetObjectVersion"), context.bucket.arn_for_objects(context.s3_object_key))
        allow(("s3:GetBucketAcl", "s3:GetBucketLocation"), context.bucket.bucket_arn)  # CodeBuild looks whose it is
        allow(_PUSHING, repository.repository_arn)
        allow(("ecr:GetAuthorizationToken",), "*")
        allow(("logs:CreateLogStream", "logs:PutLogEvents"), log_group.log_group_arn)
        return role

    def _make_function(
        self, *, deployment: Deployment, log_key: kms.IKey, project: codebuild.Project, repository: ecr.Repository
    ) -> PythonFunction:
        function = PythonFunction(
            self,
            "BuildImage",
            deployment=deployment,
            name="build_image",
            asset=AssetKind.API,
            log_key=log_key,
            network=None,
            settings=ImageBuildSettings(
                region=deployment.region,
                build_project=project.project_name,
                image_repository=repository.repository_name,
            ),
            memory_mib=256,
        )
        for actions, resource in (
            (["codebuild:StartBuild", "codebuild:BatchGetBuilds"], project.project_arn),
            (["ecr:DescribeImages"], repository.repository_arn),
        ):
            function.add_to_role_policy(iam.PolicyStatement(actions=actions, resources=[resource]))
        return function


def _make_steps(arguments: dict[str, str]) -> dict[str, Any]:
    """Return the build's commands. The first that fails ends the build; docker takes the values of `arguments` from
    variables of their names."""
    named = "".join(f" --build-arg {name}" for name in arguments)
    build = f"docker build --platform linux/amd64 --provenance=false --file {DOCKERFILE}{named}"
    commands = [
        'aws ecr get-login-password | docker login --username AWS --password-stdin "${REPOSITORY%%/*}"',
        f'{build} --tag "$REPOSITORY:$TAG" .',
        'docker push "$REPOSITORY:$TAG"',
    ]
    return {"version": "0.2", "phases": {"build": {"commands": commands}}}
