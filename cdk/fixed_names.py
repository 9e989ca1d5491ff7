"""The names that the stacks fix themselves, each with the reason why deploying again cannot collide with it.

CloudFormation fails on a name that exists already: after a destroyed or half-way failed deployment, or because somebody
else has it. Names that CloudFormation makes up are new each time, and are not here. tests/cdk/test_fixed_names.py holds
this table to the templates: a fixed name without a row fails, and so does a row that matches none.
docs/reference/names.md shows it; `tools.account` removes and looks for what may be left.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase


class Uniqueness(Enum):
    """The scope in which a name must be unique, and so what can already have it."""

    OURS = "Deleted with its stack, and AWS does not create it again."
    WITHIN = "Unique within a resource of ours that is new each time."
    LABEL = "AWS accepts the same name twice."
    RECREATED = "AWS can create it again after the stack is gone: `scripts/destroy.sh` removes it."
    SHARED = "The account may have it already: `scripts/preflight.sh` looks for it."


@dataclass(frozen=True, kw_only=True, slots=True)
class FixedName:
    """Names of one property of one type. `names`: patterns in which `{prefix}` is tessera-<environment>."""

    type: str  #: of CloudFormation
    property: str
    uniqueness: Uniqueness
    names: tuple[str, ...] = ("*",)
    note: str = ""

    def match(self, type: str, property: str, name: str, prefix: str) -> tuple[str, ...]:
        """Return the patterns that match a name of a template."""
        if (type, property) != (self.type, self.property):
            return ()
        return tuple(one for one in self.names if fnmatchcase(name, one.replace("{prefix}", prefix)))


def _name(type: str, property: str, uniqueness: Uniqueness, *names: str, note: str = "") -> FixedName:
    return FixedName(
        type=f"AWS::{type}", property=property, uniqueness=uniqueness, names=names or ("{prefix}*",), note=note
    )


_OURS, _WITHIN, _LABEL = Uniqueness.OURS, Uniqueness.WITHIN, Uniqueness.LABEL
_OF_THE_CDK = "The CDK makes it of the stack's name, which holds the prefix."

#: Log groups that a service creates when it writes and finds none, up to minutes after its resource is gone.
RECREATED_LOG_GROUPS = (
    "/aws/eks/{prefix}/cluster",
    "/aws/rds/instance/{prefix}-database/postgresql",
    "/aws/rds/instance/{prefix}-database/upgrade",
    "/aws/rds/proxy/{prefix}-proxy",
)

FIXED_NAMES = (
    _name(
        "Logs::LogGroup",
        "LogGroupName",
        Uniqueness.RECREATED,
        *RECREATED_LOG_GROUPS,
        note="Ours for the sake of their key and retention, which AWS would not set (decision 104).",
    ),
    _name(
        "Logs::LogGroup",
        "LogGroupName",
        _OURS,
        "aws-waf-logs-{prefix}-api",
        "/aws/vendedlogs/{prefix}/*",
        "/tessera/*/pods",
        note="Their writers may not create groups.",
    ),
    _name(
        "SQS::Queue",
        "QueueName",
        _OURS,
        note="SQS refuses the name of a deleted queue for 60 seconds. Deleting the database next to it takes longer.",
    ),
    _name(
        "RDS::DBInstance",
        "DBInstanceIdentifier",
        _OURS,
        note="Free once the instance is gone. CloudFormation names the last snapshot, and retained backups go by the "
        "instance's resource id.",
    ),
    _name("RDS::DBInstance", "DBName", _WITHIN, "tessera"),
    _name("RDS::DBProxy", "DBProxyName", _OURS),
    _name("RDS::DBProxyTargetGroup", "TargetGroupName", _WITHIN, "default"),
    _name("CloudTrail::Trail", "TrailName", _OURS),
    _name("EKS::Cluster", "Name", _OURS, "{prefix}"),
    _name("EKS::Nodegroup", "NodegroupName", _WITHIN, "system-*", "gpu-spot-*", "gpu-on-demand-*"),
    _name("EKS::Addon", "AddonName", _WITHIN, "*"),
    _name("Lambda::Alias", "Name", _WITHIN, "live"),
    _name(
        "Cognito::UserPoolDomain",
        "Domain",
        _OURS,
        "{prefix}-*",
        note="Unique in the region among all accounts, so it ends in the account's number. It goes with the auth "
        "stack; a user pool that is kept has no domain then.",
    ),
    _name("Cognito::UserPoolIdentityProvider", "ProviderName", _WITHIN, "*"),
    _name("ApiGateway::RestApi", "Name", _LABEL),
    _name("ApiGateway::Authorizer", "Name", _WITHIN, "*"),
    _name("ApiGateway::Stage", "StageName", _WITHIN, "live"),
    _name("AppSync::GraphQLApi", "Name", _LABEL),
    _name("AppSync::DataSource", "Name", _WITHIN, "Nothing"),
    _name("AppSync::Resolver", "DataSourceName", _WITHIN, "Nothing"),
    _name("AppSync::Resolver", "TypeName", _WITHIN, "*"),
    _name("AppSync::Resolver", "FieldName", _WITHIN, "*"),
    _name("IAM::Policy", "PolicyName", _WITHIN, "*", note="An inline policy, within its role."),
    _name(
        "CloudFront::Distribution",
        "DistributionConfig.Aliases",
        Uniqueness.SHARED,
        "*",
        note="The deployment's `domain`. One distribution of all accounts can have it.",
    ),
    _name("CloudFront::Function", "Name", _OURS, "*", note=_OF_THE_CDK),
    _name("CloudFront::OriginAccessControl", "OriginAccessControlConfig.Name", _OURS, "*", note=_OF_THE_CDK),
    _name("CloudFront::ResponseHeadersPolicy", "ResponseHeadersPolicyConfig.Name", _OURS, "*", note=_OF_THE_CDK),
    _name(
        "SES::EmailIdentity",
        "EmailIdentity",
        Uniqueness.SHARED,
        "*",
        note="The deployment's `mail_from`. An identity that was verified by hand is in the way.",
    ),
    _name("APS::Workspace", "Alias", _LABEL),
    _name("APS::Scraper", "Alias", _LABEL),
    _name("APS::RuleGroupsNamespace", "Name", _WITHIN, "gpus", "pods"),
    _name("Budgets::Budget", "Budget.BudgetName", _OURS),
    _name("CE::AnomalyMonitor", "MonitorName", _OURS),
    _name("CE::AnomalySubscription", "SubscriptionName", _OURS),
    _name("CloudWatch::Alarm", "AlarmName", _OURS),
    _name("CloudWatch::CompositeAlarm", "AlarmName", _OURS),
    _name("CloudWatch::Dashboard", "DashboardName", _OURS),
)
#: Properties that look like names of ours and are references, or are metrics' names.
REFERENCES = frozenset(
    {
        ("AWS::AppSync::Resolver", "Runtime.Name"),
        ("AWS::CloudWatch::Alarm", "MetricName"),
        ("AWS::CodeDeploy::DeploymentGroup", "DeploymentConfigName"),
        ("AWS::EC2::EIP", "Domain"),
        ("AWS::EC2::VPCEndpoint", "ServiceName"),
        ("AWS::WAFv2::WebACL", "VisibilityConfig.MetricName"),
    }
)
