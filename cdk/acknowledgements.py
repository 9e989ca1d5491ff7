"""Findings of cdk-nag, cloudformation-validate and our own IAM rules that we accept, with the reasons.

Enforced by tests/cdk/test_nag.py, test_validation.py and test_iam.py: a finding that is not in the table fails, and so
does a rule, kind or subject in it that matches none. See docs/decisions/0035.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True, kw_only=True, slots=True)
class Acknowledgement:
    """An accepted finding on all constructs of some kinds: those of a CloudFormation type, or those whose path matches
    a pattern."""

    rules: tuple[str, ...]
    #: `AWS::SQS::Queue`, or a path from the stack's noun on: `cluster/Cluster/KubectlProvider/*`.
    kinds: tuple[str, ...]
    reason: str
    #: Patterns of what the rule names in brackets: `Resource::*` of AwsSolutions-IAM5[Resource::*].
    subjects: tuple[str, ...] = ("*",)
    presets: tuple[str, ...] = ()  #: where only one of them may; none named: in all

    def match(self, *, rule: str, subject: str, type: str, path: str, preset: str) -> tuple[str, ...]:
        """Return its rule, kinds and subjects that a finding matches; nothing unless it matches one of each."""
        rules = [one for one in self.rules if one == rule]
        kinds = [one for one in self.kinds if fnmatchcase(type if one.startswith("AWS::") else path, one)]
        subjects = [one for one in self.subjects if fnmatchcase(subject, one)]
        if not (rules and kinds and subjects and (not self.presets or preset in self.presets)):
            return ()
        return (*rules, *kinds, *subjects)


NETWORK = (
    Acknowledgement(
        rules=("HIPAA.Security-VPCNoUnrestrictedRouteToIGW",),
        kinds=("network/Vpc/publicSubnet*/DefaultRoute",),
        reason="The public subnets hold the NAT gateways alone, which need a way out.",
    ),
    Acknowledgement(
        rules=("W3010",),
        kinds=("AWS::EC2::Subnet",),
        reason="Zones are named by the deployment, since a lookup needs credentials and not every zone has GPUs.",
    ),
)

DATA = (
    Acknowledgement(
        rules=("HIPAA.Security-S3BucketReplicationEnabled",),
        kinds=("AWS::S3::Bucket",),
        reason="S3 has three zones, and slides may often not leave their region: a second one is a setting.",
    ),
    Acknowledgement(
        rules=("HIPAA.Security-S3BucketVersioningEnabled", "HIPAA.Security-S3DefaultEncryptionKMS"),
        kinds=("data/AccessLogs/Resource", "recovery/AccessLogs/Resource"),
        reason="S3 alone writes access logs, each once and to buckets with its own keys only.",
    ),
    Acknowledgement(
        rules=("HIPAA.Security-CloudTrailCloudWatchLogsEnabled",),
        kinds=("data/Audit/Trail",),
        reason="Athena reads the trail in its bucket; CloudWatch would cost once more (docs/decisions/0018).",
    ),
    Acknowledgement(
        rules=("AwsSolutions-RDS3", "HIPAA.Security-RDSMultiAZSupport"),
        kinds=("data/Database/Instance/Resource",),
        presets=("dev",),
        reason="A trial may lose its database with its zone, and costs half.",
    ),
    Acknowledgement(
        rules=("AwsSolutions-RDS10", "HIPAA.Security-RDSInstanceDeletionProtectionEnabled"),
        kinds=("data/Database/Instance/Resource",),
        presets=("dev",),
        reason="A trial is to be gone when its stacks are destroyed.",
    ),
    Acknowledgement(
        rules=("AwsSolutions-RDS11",),
        kinds=("data/Database/Instance/Resource",),
        reason="Another port hides nothing from those whom the security groups let in: the proxy and the owner.",
    ),
    Acknowledgement(
        rules=("HIPAA.Security-RDSInBackupPlan",),
        kinds=("data/Database/Instance/Resource",),
        reason="RDS itself keeps backups and the log between them, for as many days as the deployment says.",
    ),
    Acknowledgement(
        rules=("HIPAA.Security-EC2RestrictedCommonPorts", "HIPAA.Security-EC2RestrictedSSH"),
        kinds=("data/Database/SecurityGroup/from *",),
        reason="The port is the database's own, named by a reference that cdk-nag does not follow.",
    ),
)

FUNCTIONS = (
    Acknowledgement(
        rules=("W3005",),
        kinds=("AWS::Lambda::Function", "AWS::APS::Workspace", "AWS::CodeBuild::Project"),
        subjects=("DependsOn",),
        reason="The CDK lets a resource wait for a construct as a whole, such as a role with its policies.",
    ),
    Acknowledgement(
        rules=("AwsSolutions-L1",),
        kinds=("cluster/Cluster/KubectlProvider/Handler/Resource", "web/Custom::CDKBucketDeployment*/Resource"),
        reason="The CDK chooses the runtime of its own functions, which run at deploys only.",
    ),
    Acknowledgement(
        rules=("HIPAA.Security-LambdaConcurrency",),
        kinds=("AWS::Lambda::Function",),
        reason="Reserved concurrency sends good messages to the dead letters; event sources have a maximum (F-7).",
    ),
    Acknowledgement(
        rules=("HIPAA.Security-LambdaDLQ",),
        kinds=("AWS::Lambda::Function",),
        reason="Queues have dead letters, other callers wait for the answer, and the sweep comes again in a minute.",
    ),
    Acknowledgement(
        rules=("HIPAA.Security-LambdaInsideVPC",),
        kinds=("web/Custom::CDKBucketDeployment*/Resource",),
        reason="It copies public files from bucket to bucket at deploys, and needs nothing that is in the VPC.",
    ),
    Acknowledgement(
        rules=("HIPAA.Security-LambdaInsideVPC",),
        kinds=("api/Functions/webhook_send/Resource",),
        reason="It opens addresses that customers name, and outside the VPC it reaches nothing of ours (F-60).",
    ),
    Acknowledgement(
        rules=("HIPAA.Security-LambdaInsideVPC",),
        kinds=("auth/SignOn/Claims/Resource",),
        reason="It reads the groups in its event and calls nothing, neither in the VPC nor outside.",
    ),
    Acknowledgement(
        rules=("HIPAA.Security-LambdaInsideVPC",),
        kinds=("workload/ImageBuild/BuildImage/Resource",),
        reason="It calls ECR, CodeBuild and CloudFormation at deploys, and needs nothing that is in the VPC.",
    ),
)

IAM = (
    Acknowledgement(
        rules=("HIPAA.Security-IAMNoInlinePolicy",),
        kinds=("AWS::IAM::Policy",),
        reason="An inline policy belongs to one role and goes with it; a managed one could be attached elsewhere.",
    ),
    Acknowledgement(
        rules=("AwsSolutions-IAM5",),
        kinds=("AWS::IAM::Policy",),
        subjects=("Resource::[*]",),
        reason="Which action may be done on any resource is told one by one under IAM.AnyResource.",
    ),
    Acknowledgement(
        rules=("IAM.WildcardAction",),
        kinds=("AWS::KMS::Key",),
        subjects=("kms:[*]",),
        reason="The account that owns a key keeps all rights to it, or nobody could ever change the key's policy.",
    ),
    Acknowledgement(
        rules=("IAM.AnyResource",),
        kinds=("AWS::IAM::Policy",),
        subjects=("xray:PutTelemetryRecords", "xray:PutTraceSegments"),
        reason="X-Ray knows no resources that one could name when traces are written.",
    ),
    Acknowledgement(
        rules=("IAM.AnyResource",),
        kinds=("workload/ImageBuild/ProjectRole/DefaultPolicy/Resource",),
        subjects=("ecr:GetAuthorizationToken",),
        reason="A registry's token is for all of it, and what it opens is told by the other rights of the role.",
    ),
    Acknowledgement(
        rules=("IAM.AnyResource",),
        kinds=("AWS::IAM::Policy",),
        subjects=(
            "ec2:AssignPrivateIpAddresses",
            "ec2:CreateNetworkInterface",
            "ec2:DeleteNetworkInterface",
            "ec2:DescribeNetworkInterfaces",
            "ec2:DescribeSubnets",
            "ec2:UnassignPrivateIpAddresses",
        ),
        reason="Lambda attaches a function to the VPC in that function's role, and checks for these rights on *.",
    ),
    Acknowledgement(
        rules=("AwsSolutions-IAM5",),
        kinds=("data/Database/MonitoringRole/DefaultPolicy/Resource",),
        subjects=("Resource::*:log-group:RDSOSMetrics:log-stream:[*]",),
        reason="RDS names the log streams of enhanced monitoring by instances.",
    ),
    Acknowledgement(
        rules=("AwsSolutions-IAM5",),
        kinds=(
            "api/Functions/*Role/DefaultPolicy/Resource",
            "data/Objects/Replication/Role/DefaultPolicy/Resource",
            "data/Owner/RecoverRole/DefaultPolicy/Resource",
            "web/PageFiles/Role/DefaultPolicy/Resource",
            "workload/*/Account/Role/DefaultPolicy/Resource",
        ),
        subjects=("Resource::*/[*]*",),
        reason="A bucket's objects are named by tenant, job and digest when they are made, or by the page's own build.",
    ),
    Acknowledgement(
        rules=("AwsSolutions-IAM5",),
        kinds=("data/Sources/Role/DefaultPolicy/Resource",),
        subjects=("Resource::*/[*]*",),
        reason="Which objects of a customer's bucket may be read, the policy of each session says.",
    ),
    Acknowledgement(
        rules=("AwsSolutions-IAM5",),
        kinds=("api/Gateway/Authorizer/authorizerInvokePolicy/Resource",),
        subjects=("Resource::*:[*]",),
        reason="The CDK lets the gateway call the authorizer in any of its versions, and there is but one.",
    ),
    Acknowledgement(
        rules=("AwsSolutions-IAM4",),
        kinds=("api/Functions/Releases/Role/Resource",),
        reason="CodeDeploy runs AWS's code, and this policy says what that code calls to move aliases.",
    ),
    Acknowledgement(
        rules=("AwsSolutions-IAM4",),
        kinds=("api/Gateway/Rest/CloudWatchRole/Resource",),
        reason="API Gateway takes this policy of AWS for the one role by which it writes the logs of an account.",
    ),
)

API = (
    Acknowledgement(
        rules=("AwsSolutions-APIG2",),
        kinds=("AWS::ApiGateway::RestApi",),
        reason="Requests are validated where the answer can say in a sentence what is wrong with them.",
    ),
    Acknowledgement(
        rules=("AwsSolutions-APIG4",),
        kinds=(
            "api/Gateway/Rest/Default/*/health/GET/Resource",
            "api/Gateway/Rest/Default/*/openapi.json/GET/Resource",
        ),
        reason="Health and the description of the API are for everybody, and tell nothing of anybody.",
    ),
    Acknowledgement(
        rules=("AwsSolutions-COG4",),
        kinds=("AWS::ApiGateway::Method",),
        reason="One authorizer of ours reads the tokens of Cognito's people and the keys of services.",
    ),
    Acknowledgement(
        rules=("HIPAA.Security-APIGWCacheEnabledAndEncrypted",),
        kinds=("AWS::ApiGateway::Stage",),
        reason="Answers belong to one tenant and one moment, and a cache could give them to another.",
    ),
    Acknowledgement(
        rules=("HIPAA.Security-APIGWSSLEnabled",),
        kinds=("AWS::ApiGateway::Stage",),
        reason="The gateway calls functions, which know it by IAM and ask for no client certificate.",
    ),
    Acknowledgement(
        rules=("AwsSolutions-ASC3",),
        kinds=("AWS::AppSync::GraphQLApi",),
        reason="Logs of whole requests would hold headers, and with them credentials.",
    ),
)

CLUSTER = (
    Acknowledgement(
        rules=("AwsSolutions-IAM4",),
        kinds=("cluster/Cluster/KubectlProvider/*",),
        reason="The CDK's own functions, which call kubectl and helm at deploys, take these policies of AWS.",
    ),
    Acknowledgement(
        rules=("AwsSolutions-IAM5",),
        kinds=("cluster/Cluster/KubectlProvider/*",),
        subjects=("Resource::<*.Arn>:[*]",),
        reason="One of the CDK's own functions calls the other in any of its versions, and there is but one.",
    ),
    Acknowledgement(
        rules=("AwsSolutions-IAM4",),
        kinds=(
            "cluster/Cluster/Role/Resource",
            "cluster/NodeGroups/Role/Resource",
            "cluster/NodeAddons/NetworkRole/Resource",
        ),
        reason="EKS, its nodes and its network plugin run AWS's code, and these policies say what that code calls.",
    ),
    Acknowledgement(
        rules=("W9002", "W9013"),
        kinds=("cluster/Cluster/Admin/Resource",),
        reason="Whose role enters the cluster is a setting of the deployment.",
    ),
    Acknowledgement(
        rules=("W9009",),
        kinds=("cluster/Cluster/Resource",),
        subjects=("Properties.EncryptionConfig*",),
        reason="The CDK names what is encrypted beside the key, which EKS no longer needs and still takes.",
    ),
    Acknowledgement(
        rules=("IAM.AnyResource",),
        kinds=("workload/Controllers/Autoscaler/Account/Role/DefaultPolicy/Resource",),
        subjects=(
            "autoscaling:DescribeAutoScalingGroups",
            "autoscaling:DescribeAutoScalingInstances",
            "autoscaling:DescribeScalingActivities",
            "autoscaling:DescribeTags",
            "ec2:DescribeInstanceTypes",
            "ec2:DescribeLaunchTemplateVersions",
        ),
        reason="AWS knows no resources for what describes instances, their types and their groups.",
    ),
    Acknowledgement(
        rules=("AwsSolutions-IAM5",),
        kinds=("workload/Controllers/Autoscaler/Account/Role/DefaultPolicy/Resource",),
        subjects=("Resource::*:autoScalingGroup:*",),
        reason="EKS names the groups of nodes when it makes them, so a condition asks for a tag of the cluster.",
    ),
)

IMAGE = (
    Acknowledgement(
        rules=("AwsSolutions-CB4",),
        kinds=("workload/ImageBuild/Project/Resource",),
        reason="The key is for artifacts and there are none: the repository and the log have keys of ours.",
    ),
    Acknowledgement(
        rules=("HIPAA.Security-CodeBuildProjectSourceRepoUrl",),
        kinds=("workload/ImageBuild/Project/Resource",),
        reason="The source is an archive in S3, where the rule expects the address of a repository of git.",
    ),
)

WEB = (
    Acknowledgement(
        rules=(
            "AwsSolutions-S1",
            "HIPAA.Security-S3BucketLoggingEnabled",
            "HIPAA.Security-S3BucketVersioningEnabled",
            "HIPAA.Security-S3DefaultEncryptionKMS",
        ),
        kinds=("web/Page/Resource",),
        reason="The page's files are public, and are made anew from the code at every deploy.",
    ),
    Acknowledgement(
        rules=("AwsSolutions-CFR1",),
        kinds=("AWS::CloudFront::Distribution",),
        reason="Where pathologists may sign in is not ours to say.",
    ),
    Acknowledgement(
        rules=("AwsSolutions-CFR2", "AwsSolutions-CFR3"),
        kinds=("AWS::CloudFront::Distribution",),
        reason="Firewall and access log are at the gateway, before all but public files (docs/decisions/0032).",
    ),
    Acknowledgement(
        rules=("AwsSolutions-CFR4",),
        kinds=("AWS::CloudFront::Distribution",),
        presets=("dev",),
        reason="CloudFront takes older TLS under its own name; a minimum needs a domain and its certificate.",
    ),
)

OBSERVABILITY = (
    Acknowledgement(
        rules=("HIPAA.Security-CloudWatchAlarmAction",),
        kinds=("api/Functions/Releases/*",),
        reason="CodeDeploy reads these alarms during a release, and whoever deploys sees it fail.",
    ),
    Acknowledgement(
        rules=("HIPAA.Security-CloudWatchAlarmAction",),
        kinds=("observability/Objectives/*",),
        reason="One window of an objective tells nobody; the alarm that joins both windows does.",
    ),
)

ACKNOWLEDGED = (*NETWORK, *DATA, *FUNCTIONS, *IAM, *API, *CLUSTER, *IMAGE, *WEB, *OBSERVABILITY)
