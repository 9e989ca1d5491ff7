"""The types of our templates that MiniStack 1.5.33 can deploy, and the substitutes for the others.

A type that is in neither list is an error of the transformation, so that nothing new is left out silently.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from adapters.settings.database_roles import OWNER
from cdk.emulated.values import DATABASE_HOST, DATABASE_PORT

SELF = "{id}"  #: in a substitute: the logical id of the resource itself


@dataclass(frozen=True, kw_only=True, slots=True)
class Dropped:
    """A type that is not deployed. `ref` and `attributes` replace references to it; any other reference is an error."""

    why: str
    instead: str | None = None
    ref: Any = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    #: A resource that takes its place under the same logical id.
    replacement: Mapping[str, Any] | None = None
    #: Properties that become outputs of the stack, for the code that does the resource's work in its place.
    tells: tuple[str, ...] = ()


_NO_ALARM = "arn:aws:cloudwatch:eu-central-1:000000000000:alarm:emulated"
_NO_FUNCTION = "arn:aws:lambda:eu-central-1:000000000000:function:emulated-provider"
_IN_NODE = "its function is in Node and wants the SDK that Lambda brings"
_NOT_KNOWN = "CloudFormation cannot make it on MiniStack"
_NO_CLUSTER = "there is no cluster"
_ON_THIS_MACHINE = "functions and worker run as processes of this machine, outside any network"

DROPPED: Mapping[str, Dropped] = {
    # network
    "AWS::EC2::EIP": Dropped(why=_ON_THIS_MACHINE),
    "AWS::EC2::FlowLog": Dropped(why=_ON_THIS_MACHINE),
    "AWS::EC2::NatGateway": Dropped(
        why=_ON_THIS_MACHINE, ref="nat-emulated", attributes={"NatGatewayId": "nat-emulated"}
    ),
    "AWS::EC2::SecurityGroupIngress": Dropped(why=_ON_THIS_MACHINE),
    "AWS::EC2::SecurityGroupEgress": Dropped(why=_ON_THIS_MACHINE),
    "Custom::VpcRestrictDefaultSG": Dropped(why=_IN_NODE),
    # data
    "AWS::RDS::DBInstance": Dropped(
        why="MiniStack runs RDS in docker only",
        instead="the embedded Postgres; a secret with its owner stands for the managed one",
        ref="emulated-postgres",
        attributes={
            "Endpoint.Address": {"Ref": DATABASE_HOST},
            "Endpoint.Port": {"Ref": DATABASE_PORT},
            "MasterUserSecret.SecretArn": {"Ref": SELF},
            "DbiResourceId": "db-EMULATED",
        },
        replacement={
            "Type": "AWS::SecretsManager::Secret",
            # Postgres on 127.0.0.1 asks nobody for a password.
            "Properties": {"SecretString": json.dumps({"username": OWNER, "password": "none"})},
        },
    ),
    "AWS::RDS::DBProxy": Dropped(
        why="MiniStack has none",
        instead="the embedded Postgres, directly, without IAM tokens",
        ref="emulated-proxy",
        attributes={
            "Endpoint": {"Ref": DATABASE_HOST},
            "DBProxyArn": "arn:aws:rds:eu-central-1:000000000000:db-proxy:prx-emulated",
        },
    ),
    "AWS::RDS::DBProxyTargetGroup": Dropped(why="MiniStack has no proxy"),
    "AWS::CloudTrail::Trail": Dropped(why=_NOT_KNOWN),
    "Custom::Trigger": Dropped(
        why=_IN_NODE,
        instead="the function is invoked when its stack stands, and fails the deployment likewise",
        tells=("HandlerArn",),
    ),
    # api and realtime
    "AWS::WAFv2::LoggingConfiguration": Dropped(why=_NOT_KNOWN),
    "AWS::WAFv2::WebACLAssociation": Dropped(why="MiniStack has no firewall: it keeps the rules, and applies none"),
    # web
    "Custom::CDKBucketDeployment": Dropped(
        why="its function runs the AWS command line out of a layer for Lambda's own Linux",
    ),
    # observability
    "AWS::APS::Workspace": Dropped(
        why=_NOT_KNOWN, attributes={"PrometheusEndpoint": "https://aps-workspaces.eu-central-1.amazonaws.com/emulated/"}
    ),
    "AWS::APS::RuleGroupsNamespace": Dropped(why=_NOT_KNOWN),
    "AWS::APS::Scraper": Dropped(why=_NOT_KNOWN),
    "AWS::Budgets::Budget": Dropped(why=_NOT_KNOWN),
    "AWS::CloudWatch::CompositeAlarm": Dropped(why=_NOT_KNOWN, attributes={"Arn": _NO_ALARM}),
    # cluster and workload
    "AWS::Lambda::LayerVersion": Dropped(
        why="only functions that are dropped have layers: kubectl, helm, the AWS command line", ref="emulated-layer"
    ),
    "AWS::EKS::Cluster": Dropped(
        why="MiniStack runs EKS in docker only",
        instead="the worker, as a process of this machine",
        ref="emulated-cluster",
        attributes={
            "Arn": "arn:aws:eks:eu-central-1:000000000000:cluster/emulated",
            "ClusterSecurityGroupId": "sg-emulated",
        },
    ),
    "AWS::EC2::LaunchTemplate": Dropped(
        why="there are no nodes", ref="lt-emulated", attributes={"LatestVersionNumber": "1"}
    ),
    "AWS::EKS::AccessEntry": Dropped(why=_NO_CLUSTER),
    "AWS::EKS::Addon": Dropped(why=_NO_CLUSTER),
    "AWS::EKS::Nodegroup": Dropped(why=_NO_CLUSTER),
    "Custom::AWSCDK-EKS-HelmChart": Dropped(why=_NO_CLUSTER),
    "AWS::EKS::PodIdentityAssociation": Dropped(
        why=_NO_CLUSTER,
        instead="the worker on this machine assumes the same role",
        tells=("ServiceAccount", "RoleArn"),
    ),
    "Custom::AWSCDK-EKS-KubernetesResource": Dropped(
        why=_NO_CLUSTER,
        instead="the worker on this machine has the settings of the ScaledJob's pods; nothing for the others",
        tells=("Manifest",),
    ),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class DroppedSome:
    """Resources of a deployed type that are dropped because of their properties."""

    which: str
    applies: Callable[[Mapping[str, Any]], bool]
    rule: Dropped


OURS = "lambdas."  #: begins the handlers of our functions

DROPPED_SOME: Mapping[str, DroppedSome] = {
    "AWS::CloudWatch::Alarm": DroppedSome(
        which="with metric math",
        applies=lambda properties: "Metrics" in properties,
        rule=Dropped(why="MiniStack computes none", ref="emulated-alarm", attributes={"Arn": _NO_ALARM}),
    ),
    "AWS::Lambda::Function": DroppedSome(
        which="of the CDK itself",
        applies=lambda properties: not str(properties.get("Handler", OURS)).startswith(OURS),
        rule=Dropped(
            why="they serve custom resources that are dropped",
            ref="emulated-provider",
            attributes={"Arn": _NO_FUNCTION},
        ),
    ),
}

#: Types that MiniStack creates for real, or stores and answers queries about.
DEPLOYED: frozenset[str] = frozenset(
    {
        "AWS::ApiGateway::Account",
        "AWS::ApiGateway::Authorizer",
        "AWS::ApiGateway::Deployment",
        "AWS::ApiGateway::GatewayResponse",
        "AWS::ApiGateway::Method",
        "AWS::ApiGateway::Resource",
        "AWS::ApiGateway::RestApi",
        "AWS::ApiGateway::Stage",
        "AWS::AppSync::DataSource",
        "AWS::AppSync::GraphQLApi",
        "AWS::AppSync::GraphQLSchema",
        "AWS::AppSync::Resolver",
        "AWS::CloudFront::Distribution",
        "AWS::CloudFront::Function",
        "AWS::CloudFront::OriginAccessControl",
        "AWS::CloudFront::ResponseHeadersPolicy",
        "AWS::CloudWatch::Alarm",
        "AWS::CloudWatch::Dashboard",
        "AWS::Cognito::UserPool",
        "AWS::Cognito::UserPoolClient",
        "AWS::Cognito::UserPoolDomain",
        "AWS::EC2::InternetGateway",
        "AWS::EC2::Route",
        "AWS::EC2::RouteTable",
        "AWS::EC2::SecurityGroup",
        "AWS::EC2::Subnet",
        "AWS::EC2::SubnetRouteTableAssociation",
        "AWS::EC2::VPC",
        "AWS::EC2::VPCEndpoint",
        "AWS::EC2::VPCGatewayAttachment",
        "AWS::Events::Rule",
        "AWS::IAM::Policy",
        "AWS::IAM::Role",
        "AWS::KMS::Key",
        "AWS::Lambda::EventSourceMapping",
        "AWS::Lambda::Function",
        "AWS::Lambda::Permission",
        "AWS::Lambda::Version",
        "AWS::Logs::LogGroup",
        "AWS::Logs::MetricFilter",
        "AWS::RDS::DBParameterGroup",
        "AWS::RDS::DBSubnetGroup",
        "AWS::S3::Bucket",
        "AWS::S3::BucketPolicy",
        "AWS::SNS::Topic",
        "AWS::SNS::TopicPolicy",
        "AWS::SQS::Queue",
        "AWS::SQS::QueuePolicy",
        "AWS::SSM::Parameter",
        "AWS::WAFv2::WebACL",
    }
)

#: Attributes of deployed types that MiniStack lacks, computed from the properties.
ATTRIBUTES: Mapping[str, Mapping[str, Callable[[Mapping[str, Any]], Any]]] = {
    "AWS::EC2::VPC": {"CidrBlock": lambda vpc: vpc["CidrBlock"]},
    # Only the page's policy reads it; functions and clients get the address of the local server.
    "AWS::AppSync::GraphQLApi": {"RealtimeDns": lambda _: "emulated.appsync-realtime-api.amazonaws.com"},
}
