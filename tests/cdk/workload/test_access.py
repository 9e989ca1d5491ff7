"""What workers may do in AWS and say in the network."""

from __future__ import annotations

import json
from typing import Any

from tests.cdk.manifests import Object, objects
from tests.cdk.policies import statements
from tests.cdk.templates import Resource, Templates
from tests.cdk.workload.test_pods import settings, template
from tests.cdk.workload.test_workload import scaled_jobs

#: All that a worker's code asks of AWS, with what it asks it of, by a part of its name in the template.
RIGHTS = {
    "gpu-worker": {
        "sqs:GetQueueUrl": {"Queuesshardshigh", "Queuesshardsnormal", "Queuesshardslow", "Queueswake"},
        "sqs:ReceiveMessage": {"Queuesshardshigh", "Queuesshardsnormal", "Queuesshardslow"},
        "sqs:ChangeMessageVisibility": {"Queuesshardshigh", "Queuesshardsnormal", "Queuesshardslow"},
        "sqs:DeleteMessage": {"Queuesshardshigh", "Queuesshardsnormal", "Queuesshardslow"},
        "sqs:SendMessage": {"Queueswake"},
        "s3:GetObject": {"Slides", "Results", "Models"},
        "s3:PutObject": {"Results"},
        "kms:Decrypt": {"Key"},
        "kms:GenerateDataKey": {"Key"},
        "rds-db:connect": {"DatabaseProxy"},
        "xray:PutTraceSegments": {"*"},
        "sts:AssumeRole": {"SourcesRole"},
        "sts:TagSession": {"SourcesRole"},
    },
    "heavy-worker": {
        "sqs:GetQueueUrl": {"Queuesheavy", "Queueswake"},
        "sqs:ReceiveMessage": {"Queuesheavy"},
        "sqs:ChangeMessageVisibility": {"Queuesheavy"},
        "sqs:DeleteMessage": {"Queuesheavy"},
        "sqs:SendMessage": {"Queueswake"},
        "s3:GetObject": {"Slides", "Results"},
        "s3:PutObject": {"Results"},
        "s3:AbortMultipartUpload": {"Results"},
        "kms:Decrypt": {"Key"},
        "kms:GenerateDataKey": {"Key"},
        "rds-db:connect": {"DatabaseProxy"},
        "xray:PutTraceSegments": {"*"},
        "sts:AssumeRole": {"SourcesRole"},
        "sts:TagSession": {"SourcesRole"},
    },
}


def role_of(templates: Templates, job: Object) -> str:
    """Logical id of the role that the pods of `job` get."""
    namespace, account = job["metadata"]["namespace"], template(job)["spec"]["serviceAccountName"]
    [association] = [
        found["Properties"]
        for found in templates.resources("AWS::EKS::PodIdentityAssociation").values()
        if (found["Properties"]["Namespace"], found["Properties"]["ServiceAccount"]) == (namespace, account)
    ]
    return association["RoleArn"]["Fn::GetAtt"][0]


def allowed(templates: Templates, job: Object) -> dict[str, list[str]]:
    """Resources by action, each as the text of what stands in the template."""
    role = role_of(templates, job)
    policies = [path for path, found in templates.by_path().items() if _is_policy_of(found, role)]
    assert policies
    rights: dict[str, list[str]] = {}
    for statement in statements(templates):
        if statement.path in policies:
            assert statement.allows
            for action in statement.actions:
                rights.setdefault(action, []).extend(json.dumps(one) for one in statement.resources)
    return rights


def _is_policy_of(found: Resource, role: str) -> bool:
    return found["Type"] == "AWS::IAM::Policy" and {"Ref": role} in found["Properties"]["Roles"]


def test_a_worker_may_do_what_its_code_does_and_no_more_F41(templates: Templates) -> None:
    for job in scaled_jobs(templates):
        rights, expected = allowed(templates, job), RIGHTS[job["metadata"]["name"]]
        assert rights.keys() == expected.keys()
        for action, names in expected.items():
            assert len(rights[action]) == len(names), (action, rights[action])
            for name in names:
                assert any(name in resource for resource in rights[action]), (action, name)


def test_workers_can_not_overwrite_what_others_made_of_a_job(templates: Templates) -> None:
    """The one writes below the prefix of shards, the other below those of jobs: see wsi/keys.py."""
    written = {
        job["metadata"]["name"]: [json.loads(one)["Fn::Join"][1][-1] for one in allowed(templates, job)["s3:PutObject"]]
        for job in scaled_jobs(templates)
    }
    assert written == {"gpu-worker": ["/shards/*"], "heavy-worker": ["/*/jobs/*"]}


def test_slides_and_models_are_read_only_for_all_workers(templates: Templates) -> None:
    for job in scaled_jobs(templates):
        for action, resources in allowed(templates, job).items():
            if action.startswith("s3:") and action != "s3:GetObject":
                assert all("Results" in resource for resource in resources), action
            assert "Delete" not in action or action == "sqs:DeleteMessage"


def test_workers_enter_the_database_as_tessera_system_alone(templates: Templates) -> None:
    for job in scaled_jobs(templates):
        [resource] = allowed(templates, job)["rds-db:connect"]
        assert resource.endswith('"/tessera_system"]]}')
        assert "user=tessera_system" in settings(job).database_dsn


def test_the_proxy_lets_the_nodes_in(templates: Templates) -> None:
    doors = [
        found["Properties"] for found in templates.resources("AWS::EC2::SecurityGroupIngress", "workload").values()
    ]
    [door] = [one for one in doors if "ProxySecurityGroup" in str(one["GroupId"])]
    assert "ClusterSecurityGroupId" in str(door["SourceSecurityGroupId"])
    assert (door["IpProtocol"], door["FromPort"], door["ToPort"]) == ("tcp", 5432, 5432)


def test_roles_are_for_pods_only(templates: Templates) -> None:
    for job in scaled_jobs(templates):
        trust = templates.resources("AWS::IAM::Role")[role_of(templates, job)]["Properties"]["AssumeRolePolicyDocument"]
        [statement] = trust["Statement"]
        assert statement["Principal"] == {"Service": "pods.eks.amazonaws.com"}


def policies_for(templates: Templates, labels: dict[str, str], namespace: str) -> list[dict[str, Any]]:
    return [
        one["spec"]
        for one in objects(templates, "NetworkPolicy")
        if one["metadata"]["namespace"] == namespace
        and one["spec"]["podSelector"].get("matchLabels", {}).items() <= labels.items()
    ]


def opened(rules: list[dict[str, Any]], side: str) -> set[tuple[str, int]]:
    """(whom, port) of every rule."""
    return {(_named(peer), port["port"]) for rule in rules for peer in rule[side] for port in rule["ports"]}


def _named(peer: dict[str, Any]) -> str:
    if "ipBlock" in peer:
        cidr = peer["ipBlock"]["cidr"]
        return "vpc" if "CidrBlock" in cidr else cidr
    return peer["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"]


def test_every_pod_of_the_namespace_is_shut_off_at_first(templates: Templates) -> None:
    namespace = scaled_jobs(templates)[0]["metadata"]["namespace"]
    for spec in policies_for(templates, {}, namespace):
        assert spec == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"], "ingress": [], "egress": []}
    assert policies_for(templates, {}, namespace)


def test_a_worker_reaches_names_its_credentials_the_database_and_AWS(templates: Templates) -> None:
    for job in scaled_jobs(templates):
        found = policies_for(templates, template(job)["metadata"]["labels"], job["metadata"]["namespace"])
        out = set().union(*(opened(spec["egress"], "to") for spec in found))
        assert out == {("kube-system", 53), ("169.254.170.23/32", 80), ("vpc", 5432), ("0.0.0.0/0", 443)}


def test_a_worker_answers_within_the_VPC_on_its_port_alone(templates: Templates) -> None:
    for job in scaled_jobs(templates):
        found = policies_for(templates, template(job)["metadata"]["labels"], job["metadata"]["namespace"])
        inward = set().union(*(opened(spec["ingress"], "from") for spec in found))
        assert inward == {("vpc", settings(job).health_port)}


def test_the_queues_of_the_role_are_those_of_the_triggers(templates: Templates) -> None:
    for job in scaled_jobs(templates):
        receives = allowed(templates, job)["sqs:ReceiveMessage"]
        assert len(receives) == len(job["spec"]["triggers"])
