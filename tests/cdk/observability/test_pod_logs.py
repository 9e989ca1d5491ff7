"""What pods write reaches CloudWatch, and whoever sends it may do nothing else."""

from __future__ import annotations

import hashlib
import re

from cdk.cluster.placement import KEDA_NAMESPACE, NAMESPACE, SYSTEM_NAMESPACE
from cdk.observability.pod_logs import NAME, READ
from tests.cdk.manifests import Object, one_object
from tests.cdk.templates import Templates


def config(templates: Templates) -> str:
    (text,) = one_object(templates, "ConfigMap", NAME)["data"].values()
    return text


def pod(templates: Templates) -> Object:
    return one_object(templates, "DaemonSet", NAME)["spec"]["template"]


def test_the_lines_of_workers_and_controllers_go_to_the_log_group(templates: Templates) -> None:
    paths = re.findall(r"/var/log/containers/\*_([\w-]+)_\*\.log", config(templates))
    assert set(paths) == set(READ) >= {NAMESPACE, KEDA_NAMESPACE}
    (group,) = [
        one["Properties"]["LogGroupName"]
        for one in templates.resources("AWS::Logs::LogGroup", "observability").values()
        if one["Properties"]["LogGroupName"].endswith("/pods")
    ]
    assert re.search(rf"log_group_name +{group}$", config(templates), re.MULTILINE)
    assert re.search(rf"region +{templates.deployment.region}$", config(templates), re.MULTILINE)
    assert not re.search(r"@\w+@", config(templates))


def test_streams_are_named_after_namespace_pod_and_container(templates: Templates) -> None:
    (pattern,) = re.findall(r"Tag_Regex +(\S+)", config(templates))
    path = f"/var/log/containers/gpu-worker-x7k2p_tessera_worker-{'0a' * 32}.log"
    found = re.match(pattern.replace("(?<", "(?P<"), path)
    assert found
    assert found.groupdict() == {"namespace": "tessera", "pod": "gpu-worker-x7k2p", "container": "worker"}


def test_every_node_has_an_agent(templates: Templates) -> None:
    assert pod(templates)["spec"]["tolerations"] == [{"operator": "Exists"}]
    assert "nodeSelector" not in pod(templates)["spec"]


def test_the_configuration_lies_where_the_image_looks_for_it(templates: Templates) -> None:
    """entrypoint.sh of aws-for-fluent-bit: `fluent-bit … -c /fluent-bit/etc/fluent-bit.conf`."""
    (container,) = pod(templates)["spec"]["containers"]
    assert not {"command", "args"} & container.keys()
    [folder] = [mount["mountPath"] for mount in container["volumeMounts"] if mount["name"] == "config"]
    [name] = one_object(templates, "ConfigMap", NAME)["data"]
    assert f"{folder}/{name}" == "/fluent-bit/etc/fluent-bit.conf"


def test_another_configuration_makes_other_pods(templates: Templates) -> None:
    digest = hashlib.sha256(config(templates).encode()).hexdigest()
    assert digest in pod(templates)["metadata"]["annotations"].values()


def test_the_agent_writes_nothing_but_where_it_was(templates: Templates) -> None:
    (container,) = pod(templates)["spec"]["containers"]
    assert [mount["name"] for mount in container["volumeMounts"] if not mount["readOnly"]] == ["state"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_its_role_writes_to_one_log_group(templates: Templates) -> None:
    (policy,) = [
        one["Properties"]["PolicyDocument"]["Statement"]
        for path, one in templates.by_path().items()
        if path.startswith("observability/PodLogs/Account/Role/DefaultPolicy")
    ]
    (statement,) = policy
    assert set(statement["Action"]) == {"logs:CreateLogStream", "logs:PutLogEvents"}
    assert "Fn::GetAtt" in statement["Resource"]
    association = [
        one["Properties"]
        for path, one in templates.by_path().items()
        if path == "observability/PodLogs/Account/Association"
    ]
    assert [(one["Namespace"], one["ServiceAccount"]) for one in association] == [(SYSTEM_NAMESPACE, NAME)]
