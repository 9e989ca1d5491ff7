"""`scripts/preflight.sh`: does this account have what the deployment needs? It reads, and changes nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from botocore.exceptions import BotoCoreError, ClientError

from adapters.aws_clients import AwsClients
from cdk.deployment import WrongDeployment
from tools.account.account import Account, CheckResult
from tools.account.context import read_deployment
from tools.account.docker import check_docker
from tools.account.names import check_domain, check_leftovers, check_mail
from tools.account.prerequisites import check_bootstrap, check_disk_key, check_roles
from tools.account.quotas import check_concurrency, check_quotas
from tools.account.recovery import check_recovery
from tools.account.region import check_database, check_instance_types, check_kubernetes, check_zones

Check = Callable[[Account], Iterator[CheckResult]]
CHECKS: tuple[Check, ...] = (
    check_quotas,
    check_concurrency,
    check_bootstrap,
    check_roles,
    check_disk_key,
    check_zones,
    check_instance_types,
    check_kubernetes,
    check_database,
    check_recovery,
    check_mail,
    check_domain,
    check_leftovers,
    check_docker,
)
_HOME_REGION = "us-east-1"  #: of CloudFront and its certificates


def run_checks(account: Account, checks: tuple[Check, ...] = CHECKS) -> Iterator[CheckResult]:
    """Yield the results of all checks. One that AWS does not let us read is a failed one."""
    for check in checks:
        try:
            yield from check(account)
        except ClientError as error:
            yield CheckResult(
                check.__name__.removeprefix("check_").replace("_", " "),
                False,
                f"{error.operation_name} answered {error.response['Error']['Code']}",
                f"Run this with credentials that may call {error.operation_name}.",
            )


def main(arguments: list[str]) -> int:
    try:
        deployment = read_deployment(arguments)
    except WrongDeployment as wrong:
        sys.stderr.write(f"{wrong}\n")
        return 2
    there = AwsClients(deployment.recovery_region) if deployment.recovery_region else None
    account = Account(deployment, AwsClients(deployment.region), AwsClients(_HOME_REGION), there)
    sys.stdout.write(f"{deployment.prefix} in {deployment.region}\n")
    try:
        failed = 0
        for result in run_checks(account):
            sys.stdout.write(f"{result.format_lines()}\n")
            sys.stdout.flush()
            failed += not result.is_met
    except BotoCoreError as error:
        sys.stderr.write(f"AWS cannot be reached: {error} Sign in with the AWS command line and try again.\n")
        return 2
    sys.stdout.write(f"{failed} failed: deploy when none does.\n" if failed else "Nothing is missing.\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
