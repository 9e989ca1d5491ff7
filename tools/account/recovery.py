"""Checks of the second region: the CDK's bootstrap there, and whether RDS copies backups from the first one."""

from __future__ import annotations

from collections.abc import Iterator

from tools.account.account import Account, CheckResult
from tools.account.prerequisites import look_for_bootstrap


def check_recovery(account: Account) -> Iterator[CheckResult]:
    """Yield nothing for a deployment without recovery_region."""
    region, there = account.deployment.recovery_region, account.recovery
    if region is None or there is None:
        return
    yield look_for_bootstrap(there, region, "CDK bootstrap of the second region")
    home = account.deployment.region
    found = there.get_client("rds").describe_source_regions(RegionName=home)["SourceRegions"]
    copies = any(one.get("SupportsDBInstanceAutomatedBackupsReplication") for one in found)
    yield CheckResult(
        "backups to the second region",
        copies,
        f"RDS copies them from {home} to {region}" if copies else f"not from {home} to {region}",
        f"Set recovery_region to a region that RDS copies backups to from {home}.",
    )
