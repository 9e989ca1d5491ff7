"""The worker's image: built from this repository, or one that is in a registry already."""

from __future__ import annotations

from pathlib import Path

from aws_cdk import aws_ecr_assets as ecr_assets
from constructs import Construct

from cdk.bundling import ROOT
from cdk.deployment import Deployment


def choose_image(scope: Construct, deployment: Deployment, *, root: Path = ROOT) -> str:
    """Return the image's URI. Building needs docker at deploy, not at synth: the tag is a hash of the files that
    `.dockerignore` lets in."""
    if deployment.worker_image is not None:
        return deployment.worker_image
    return ecr_assets.DockerImageAsset(
        scope,
        "WorkerImage",
        directory=str(root),
        file="gpu_worker/Dockerfile",
        platform=ecr_assets.Platform.LINUX_AMD64,
        build_args={"BASE": deployment.worker_base} if deployment.worker_base else None,
    ).image_uri
