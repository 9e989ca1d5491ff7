"""The worker's image: built from this repository, or one that is in a registry already."""

from __future__ import annotations

from pathlib import Path

from aws_cdk import aws_ecr_assets as ecr_assets
from aws_cdk import aws_kms as kms
from constructs import Construct

from cdk.bundling import ROOT
from cdk.deployment import CODEBUILD, DOCKER, Deployment
from cdk.image.code_build import ImageBuild
from cdk.image.recipe import DOCKERFILE, make_build_args


def choose_image(
    scope: Construct, deployment: Deployment, *, key: kms.IKey, log_key: kms.IKey, root: Path = ROOT
) -> str:
    """Return the image's URI. Building needs docker at deploy, not at synth, or CodeBuild: the name is a hash of the
    files that `.dockerignore` lets in. `key` encrypts what CodeBuild built, `log_key` its logs."""
    if deployment.worker_image == CODEBUILD:
        return ImageBuild(scope, "ImageBuild", deployment=deployment, key=key, log_key=log_key, root=root).image_uri
    if deployment.worker_image != DOCKER:
        return deployment.worker_image
    return ecr_assets.DockerImageAsset(
        scope,
        "WorkerImage",
        directory=str(root),
        file=DOCKERFILE,
        platform=ecr_assets.Platform.LINUX_AMD64,
        build_args=make_build_args(deployment),
    ).image_uri
