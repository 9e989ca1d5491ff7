"""The account and the deployment that is checked against it, and the result of one check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from botocore.exceptions import ClientError

from cdk.deployment import Deployment


class ServiceClients(Protocol):
    def get_client(self, service: str) -> Any:
        """Return the client of a service, by the name that boto3 has for it."""
        ...


@dataclass(frozen=True, slots=True)
class Account:
    """`clients` are of the deployment's region; `home`, of us-east-1, where CloudFront's certificates are; `recovery`,
    of its second region, if it has one."""

    deployment: Deployment
    clients: ServiceClients
    home: ServiceClients
    recovery: ServiceClients | None = None


@dataclass(frozen=True, slots=True)
class CheckResult:
    name: str
    is_met: bool
    found: str
    remedy: str = ""  #: what to request or to run if it is not met

    def format_lines(self) -> str:
        """Return the line of the report, and the remedy on a second one if the check failed."""
        line = f"{'ok' if self.is_met else 'FAILED':<8}{self.name}: {self.found}"
        return line if self.is_met else f"{line}\n        {self.remedy}"


def find_stack_status(account: Account, noun: str) -> str | None:
    """Return the status of the deployment's stack, or None if there is none."""
    clients = get_clients_of(account, noun)
    try:
        found = clients.get_client("cloudformation").describe_stacks(StackName=f"{account.deployment.prefix}-{noun}")
    except ClientError as error:
        if "does not exist" in str(error):
            return None
        raise
    return found["Stacks"][0]["StackStatus"]


def get_clients_of(account: Account, noun: str) -> ServiceClients:
    """Return the clients of the region of a stack."""
    return account.recovery if noun == "recovery" and account.recovery is not None else account.clients
