"""Checks of what an account needs once: the CDK's bootstrap, the role for spot instances, a usable key of EBS."""

from __future__ import annotations

from collections.abc import Iterator

from botocore.exceptions import ClientError

from tools.account.account import Account, CheckResult, ServiceClients

#: The stacks ask for 6. The CDK's command looks things up with a role that 8 brought.
BOOTSTRAP_VERSION = 8
_BOOTSTRAP_PARAMETER = "/cdk-bootstrap/hnb659fds/version"
#: EC2 does not create it for an Auto Scaling group's request, unlike those of EKS, RDS and Auto Scaling.
_SPOT_ROLE, _SPOT_SERVICE = "AWSServiceRoleForEC2Spot", "spot.amazonaws.com"


def check_bootstrap(account: Account) -> Iterator[CheckResult]:
    """Compare the version of the region's bootstrap stack with what the stacks need."""
    yield look_for_bootstrap(account.clients, account.deployment.region, "CDK bootstrap")


def look_for_bootstrap(clients: ServiceClients, region: str, name: str) -> CheckResult:
    try:
        parameter = clients.get_client("ssm").get_parameter(Name=_BOOTSTRAP_PARAMETER)["Parameter"]
        version = int(parameter["Value"])
    except ClientError as error:
        if error.response["Error"]["Code"] != "ParameterNotFound":
            raise
        version = 0
    return CheckResult(
        name,
        version >= BOOTSTRAP_VERSION,
        f"version {version}, {BOOTSTRAP_VERSION} needed" if version else f"{region} has none",
        f"Run: .tools/node_modules/.bin/cdk bootstrap aws://ACCOUNT/{region}",
    )


def check_roles(account: Account) -> Iterator[CheckResult]:
    """Check the service-linked role for spot instances, which nobody creates for the node groups."""
    try:
        account.clients.get_client("iam").get_role(RoleName=_SPOT_ROLE)
        exists = True
    except ClientError as error:
        if error.response["Error"]["Code"] != "NoSuchEntity":
            raise
        exists = False
    yield CheckResult(
        "service-linked role for spot instances",
        exists,
        _SPOT_ROLE if exists else "missing",
        f"Run: aws iam create-service-linked-role --aws-service-name {_SPOT_SERVICE}",
    )


def check_disk_key(account: Account) -> Iterator[CheckResult]:
    """Check that EBS encrypts with a key that Auto Scaling may use without a grant."""
    ec2 = account.clients.get_client("ec2")
    is_encrypted = ec2.get_ebs_encryption_by_default()["EbsEncryptionByDefault"]
    key = ec2.get_ebs_default_kms_key_id()["KmsKeyId"] if is_encrypted else "none by default"
    is_own = is_encrypted and not key.endswith("alias/aws/ebs")
    yield CheckResult(
        "key of EBS",
        not is_own,
        key,
        "Grant AWSServiceRoleForAutoScaling the use of this key, or nodes end as soon as they start: aws kms"
        f" create-grant --key-id {key} --operations Encrypt Decrypt ReEncryptFrom ReEncryptTo GenerateDataKey"
        " GenerateDataKeyWithoutPlaintext DescribeKey CreateGrant --grantee-principal"
        " arn:aws:iam::ACCOUNT:role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling."
        " This check fails after the grant too: go on then.",
    )
