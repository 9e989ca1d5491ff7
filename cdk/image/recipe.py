"""The files and arguments that the worker's image is built from, the same for docker and for CodeBuild."""

from __future__ import annotations

import json
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_s3_assets as assets
from constructs import Construct

from cdk.deployment import Deployment

DOCKERFILE = "gpu_worker/Dockerfile"
_IGNORED = ".dockerignore"


def make_build_args(deployment: Deployment) -> dict[str, str]:
    return {"BASE": deployment.worker_base} if deployment.worker_base else {}


class BuildContext(assets.Asset):
    """The files that docker would send to its builder, as an archive in S3. `DockerImageAsset` reads the same file of
    patterns, and includes that file.

    Its hash also covers `how` the image is built, so that it names the image."""

    def __init__(self, scope: Construct, id: str, *, root: Path, how: object) -> None:
        chosen = {
            "exclude": [*filter(None, (root / _IGNORED).read_text().splitlines()), f"!{_IGNORED}"],
            "ignore_mode": cdk.IgnoreMode.DOCKER,
        }
        digest = cdk.FileSystem.fingerprint(str(root), extra_hash=json.dumps(how, sort_keys=True), **chosen)
        super().__init__(
            scope, id, path=str(root), asset_hash=digest, asset_hash_type=cdk.AssetHashType.CUSTOM, **chosen
        )
