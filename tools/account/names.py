"""Names that something else may hold: the sender's identity, the domain, and log groups that an earlier deployment
left."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from cdk.fixed_names import RECREATED_LOG_GROUPS
from tools.account.account import Account, CheckResult, find_stack_status

#: Stacks of which nothing is left, so that whatever has one of their names is in the way.
_GONE = frozenset({None, "DELETE_COMPLETE", "ROLLBACK_COMPLETE"})
#: Stacks that no deployment changes until somebody has deleted them.
_BROKEN = frozenset({"ROLLBACK_FAILED", "CREATE_FAILED", "DELETE_FAILED", "UPDATE_ROLLBACK_FAILED"})
NOUNS = ("network", "data", "auth", "realtime", "api", "cluster", "workload", "web", "observability")


def check_mail(account: Account) -> Iterator[CheckResult]:
    """Check that SES sends to everybody, and that the sender's identity is not there yet. Nothing without mail_from."""
    name = account.deployment.mail_from
    if name is None:
        return
    ses = account.clients.get_client("sesv2")
    is_open = ses.get_account()["ProductionAccessEnabled"]
    yield CheckResult(
        "SES",
        is_open,
        "sends to everybody" if is_open else "in the sandbox: it sends to verified addresses only",
        "Request production access in the SES console (Account dashboard), or verify each recipient.",
    )
    if find_stack_status(account, "api") in _GONE:
        is_free = not _has_identity(ses, name)
        yield CheckResult(
            f"SES identity {name}",
            is_free,
            "free" if is_free else "exists, and no stack of this deployment has made it",
            f"Delete it: aws sesv2 delete-email-identity --email-identity {name}. The api stack makes it again.",
        )


def check_domain(account: Account) -> Iterator[CheckResult]:
    """Check that the certificate is issued and that no other distribution has the domain. Nothing without a domain."""
    domain = account.deployment.domain
    if domain is None:
        return
    certificate = account.home.get_client("acm").describe_certificate(
        CertificateArn=account.deployment.certificate_arn
    )["Certificate"]
    yield CheckResult(
        "certificate",
        certificate["Status"] == "ISSUED",
        certificate["Status"].lower(),
        "Validate it: ACM names the DNS record in us-east-1.",
    )
    if find_stack_status(account, "web") in _GONE:
        pages = account.home.get_client("cloudfront").get_paginator("list_distributions").paginate()
        holders = [
            one["Id"]
            for page in pages
            for one in page["DistributionList"].get("Items", ())
            if domain in one.get("Aliases", {}).get("Items", ())
        ]
        yield CheckResult(
            f"domain {domain}",
            not holders,
            f"distribution {holders[0]} has it" if holders else "no distribution of this account has it",
            "Remove the alias from that distribution, or delete it.",
        )


def check_leftovers(account: Account) -> Iterator[CheckResult]:
    """Check that no earlier deployment of this environment left a broken stack or a log group."""
    statuses = {noun: find_stack_status(account, noun) for noun in NOUNS}
    broken = [f"{noun} ({status})" for noun, status in statuses.items() if status in _BROKEN]
    environment = account.deployment.environment
    yield CheckResult(
        "stacks",
        not broken,
        f"cannot be updated: {', '.join(broken)}" if broken else "none is broken",
        f"Run: scripts/destroy.sh {environment}",
    )
    left = list_leftover_log_groups(account)
    yield CheckResult(
        "log groups",
        not left,
        f"{', '.join(left)} without a stack" if left else "none without a stack",
        f"Run: scripts/destroy.sh {environment} --leftovers",
    )


def list_leftover_log_groups(account: Account) -> list[str]:
    """Return the log groups that AWS created again after the stack that owns their name was gone."""
    logs = account.clients.get_client("logs")
    left: list[str] = []
    for pattern in RECREATED_LOG_GROUPS:
        name = pattern.replace("{prefix}", account.deployment.prefix)
        owner = "cluster" if name.startswith("/aws/eks/") else "data"
        if find_stack_status(account, owner) not in _GONE:
            continue
        found = logs.describe_log_groups(logGroupNamePrefix=name)["logGroups"]
        left += [group["logGroupName"] for group in found if group["logGroupName"] == name]
    return left


def _has_identity(ses: Any, name: str) -> bool:
    try:
        ses.get_email_identity(EmailIdentity=name)
    except ClientError as error:
        if error.response["Error"]["Code"] == "NotFoundException":
            return False
        raise
    return True
