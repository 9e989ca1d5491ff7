"""The page's files in their bucket, each with the time that browsers may cache it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_s3_assets as assets
from aws_cdk import aws_s3_deployment as s3_deployment
from constructs import Construct

_ROOT = Path(__file__).resolve().parents[2]
BUILT = _ROOT / "web" / "dist"
PLAIN = Path(__file__).resolve().parent / "page"  #: one page of text, for as long as there is no built one
HASHED = "assets"  #: where Vite puts the files that carry a digest of their content in their name
CONFIG = "config.json"  #: what the page reads first
INDEX = "index.html"  #: names all other files


def choose_folder(built: Path = BUILT) -> Path:
    return built if (built / INDEX).is_file() else PLAIN


def describe_missing_page(built: Path = BUILT) -> str | None:
    """Return what a deployment publishes while the page is not built, and the command that builds it."""
    if choose_folder(built) == built:
        return None
    return "web/dist is missing: a deployment would publish one page of text. Build the page first: make web"


class PageFiles(Construct):
    """`config`: the addresses that the page reads at its start."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        bucket: s3.IBucket,
        config: Mapping[str, Any],
        log_group: logs.ILogGroup,
        folder: Path | None = None,
    ) -> None:
        super().__init__(scope, id)
        folder = folder or choose_folder()
        asset = assets.Asset(self, "Folder", path=str(folder))
        source = s3_deployment.Source.bucket(asset.bucket, asset.s3_object_key)
        role = self._role(bucket=bucket, sources=asset.bucket, log_group=log_group)

        def deploy_files(
            id: str, sources: Sequence[s3_deployment.ISource], **how: Any
        ) -> s3_deployment.BucketDeployment:
            """Copy files to the bucket. The CDK's own function does all copies of a stack. The CDK would grant it a row
            of wildcards, hence a role that the CDK cannot widen."""
            copy = s3_deployment.BucketDeployment(
                self,
                id,
                sources=sources,
                destination_bucket=bucket,
                role=role.without_policy_updates(),
                log_group=log_group,
                memory_limit=512,
                **how,
            )
            copy.node.add_dependency(role)
            return copy

        # Cached, but revalidated each time: a new release is seen at once, and no cache has to be emptied.
        revalidated = [s3_deployment.CacheControl.no_cache()]
        hashed = (folder / HASHED).is_dir() and deploy_files(
            "Hashed",
            [source],
            exclude=["*"],
            include=[f"{HASHED}/*"],
            # A page that is open still loads the parts of its own release. Nothing removes them: a lifecycle goes by
            # age, and would take the files of the release that is live (docs/decisions/0107).
            prune=False,
            cache_control=[
                s3_deployment.CacheControl.max_age(cdk.Duration.days(365)),
                s3_deployment.CacheControl.immutable(),
            ],
        )
        rest = deploy_files(
            "Rest",
            [source, s3_deployment.Source.json_data(CONFIG, config)],
            exclude=[f"{HASHED}/*", INDEX],
            prune=True,
            cache_control=revalidated,
        )
        index = deploy_files("Index", [source], exclude=["*"], include=[INDEX], prune=False, cache_control=revalidated)
        # Last, since it names all others: until then every visitor gets the last release as a whole.
        index.node.add_dependency(rest, *([hashed] if hashed else []))

    def _role(self, *, bucket: s3.IBucket, sources: s3.IBucket, log_group: logs.ILogGroup) -> iam.Role:
        """Return a role with the rights that `aws s3 cp` and `aws s3 sync --delete` need."""
        role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        # Assets are named by their digest; that of the configuration is not known here.
        role.add_to_policy(iam.PolicyStatement(actions=["s3:GetObject"], resources=[sources.arn_for_objects("*.zip")]))
        role.add_to_policy(
            iam.PolicyStatement(actions=["s3:ListBucket", "s3:GetBucketTagging"], resources=[bucket.bucket_arn])
        )
        role.add_to_policy(
            iam.PolicyStatement(actions=["s3:PutObject", "s3:DeleteObject"], resources=[bucket.arn_for_objects("*")])
        )
        log_group.grant_write(role)
        return role
