"""What cdk-nag and cloudformation-validate find in the stacks and we leave so, each with its reason.

Held by tests/cdk/test_nag.py and test_validation.py: a finding that is not in the table fails, and so does an entry
that matches none. See docs/decisions/0035.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True, kw_only=True, slots=True)
class Acknowledgement:
    """For all constructs of one kind: those of a CloudFormation type, or those whose path matches a pattern."""

    rule: str
    kind: str  #: `AWS::SQS::Queue`, or a path from the stack's noun on: `cluster/Cluster/KubectlProvider/*`
    reason: str
    subject: str = "*"  #: pattern of what the rule names in brackets: `Resource::*` of AwsSolutions-IAM5[Resource::*]
    preset: str = "*"  #: dev or prod, where only one of them may

    def covers(self, *, rule: str, subject: str, type: str, path: str, preset: str) -> bool:
        kind = type if self.kind.startswith("AWS::") else path
        return (
            rule == self.rule
            and fnmatchcase(kind, self.kind)
            and fnmatchcase(subject, self.subject)
            and fnmatchcase(preset, self.preset)
        )


ACKNOWLEDGED: tuple[Acknowledgement, ...] = (
    # network
    Acknowledgement(
        rule="HIPAA.Security-VPCNoUnrestrictedRouteToIGW",
        kind="network/Vpc/publicSubnet*/DefaultRoute",
        reason="The public subnets hold the NAT gateways alone, which need a way out.",
    ),
    Acknowledgement(
        rule="W3010",
        kind="AWS::EC2::Subnet",
        reason="Zones are named by the deployment, since a lookup needs credentials and not every zone has GPUs.",
    ),
    # roles
    Acknowledgement(
        rule="HIPAA.Security-IAMNoInlinePolicy",
        kind="AWS::IAM::Policy",
        reason="An inline policy belongs to one role and goes with it; a managed one could be attached elsewhere.",
    ),
    # functions
    Acknowledgement(
        rule="W3005",
        kind="AWS::Lambda::Function",
        subject="DependsOn",
        reason="The CDK lets a function wait for its role as a whole, and names the role beside the role's policies.",
    ),
)
