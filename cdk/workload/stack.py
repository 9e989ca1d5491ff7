"""The cluster's workload: its controllers and the workers."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from cdk.cluster.stack import ClusterStack
from cdk.data.database import PORT
from cdk.data.stack import DataStack
from cdk.deployment import Deployment
from cdk.image.choice import choose_image
from cdk.network.stack import NetworkStack
from cdk.workload.controllers import Controllers
from cdk.workload.gpu_worker import GpuWorker
from cdk.workload.heavy_worker import HeavyWorker
from cdk.workload.priorities import Priorities
from cdk.workload.scaled_worker import TriggerAuthentication
from cdk.workload.warm_nodes import WarmNodes
from cdk.workload.worker_namespace import WorkerNamespace


class WorkloadStack(cdk.Stack):
    """The workload, created from the controllers up and deleted in reverse, so that KEDA still runs when its objects
    are deleted, and removes their finalizers (F-56)."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        deployment: Deployment,
        network: NetworkStack,
        data: DataStack,
        cluster: ClusterStack,
        env: cdk.Environment,
    ) -> None:
        super().__init__(scope, id, env=env)
        eks = cluster.cluster
        controllers = Controllers(self, "Controllers", deployment=deployment, data=data, cluster=cluster)
        image = choose_image(self, deployment, key=data.key, log_key=network.log_key)
        namespace = WorkerNamespace(self, "Namespace", cluster=eks, network=network)
        priorities = Priorities(self, "Priorities", cluster=eks)
        authentication = TriggerAuthentication(self, "TriggerAuthentication", cluster=eks)
        door = ec2.CfnSecurityGroupIngress(
            self,
            "DatabaseDoor",
            description="Workers, which have the security group of their node",
            group_id=data.database.proxy_security_group.security_group_id,
            source_security_group_id=eks.cluster_security_group_id,
            ip_protocol="tcp",
            from_port=PORT,
            to_port=PORT,
        )
        for id, worker in (("GpuWorker", GpuWorker), ("HeavyWorker", HeavyWorker)):
            made = worker(
                self,
                id,
                deployment=deployment,
                data=data,
                cluster=eks,
                image=image,
                authentication=authentication,
            )
            made.node.add_dependency(controllers, namespace, priorities, door, data.migrations)
        if deployment.warm_nodes:
            warm = WarmNodes(self, "WarmNodes", cluster=eks, deployment=deployment, image=image)
            warm.node.add_dependency(controllers, namespace, priorities)
        authentication.node.add_dependency(controllers, namespace)
