"""The nodes: two that are always there for controllers, and GPU nodes from zero, on spot and, where spot has none, on
demand. The autoscaler reads labels, taints and GPUs of a group without nodes from EKS and EC2 (docs/decisions/0023)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import cast

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from constructs import Construct

from cdk.cluster.placement import GPU_LABELS, GPU_ON_DEMAND, GPU_SPOT, GPU_TAINT, POOL, SYSTEM
from cdk.deployment import MOST_GPU_NODES, Deployment
from cdk.network.stack import NetworkStack

#: 2 processors and 16 GiB: the controllers, or half of that and one heavy plan. Intel and AMD, since the worker's image
#: is built for them; the first to be had is taken.
SYSTEM_INSTANCE_TYPES = ("r7i.large", "r6i.large", "r7a.large", "r6a.large")
SYSTEM_NODES = 2  #: always; in two zones
#: As MOST_GPU_NODES, no setting: heavy workers, a node each, are bounded by the load (cdk/scale/load.py).
MOST_SYSTEM_NODES = 100
#: GiB. On system nodes the worker's image (10) and what heavy plans write (24 each) lie on it; on GPU nodes the system
#: alone, since all else lies on the instance's own NVMe.
SYSTEM_DISK, GPU_DISK = 100, 50

#: To nodeadm, which sets an AL2023 node up; EKS adds its own part. RAID0 puts images, volumes of pods and their logs on
#: the NVMe. FastImagePull fetches and unpacks the layers of an image side by side (F-16, docs/decisions/0024).
GPU_NODE_CONFIG = """\
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  featureGates:
    FastImagePull: true
  instance:
    localStorage:
      strategy: RAID0
"""

_EFFECTS = {"NoSchedule": eks.TaintEffect.NO_SCHEDULE}


class NodeGroups(Construct):
    """`by_pool`: the groups by their names in cdk/cluster/placement.py."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: eks.Cluster,
        version: eks.KubernetesVersion,
        deployment: Deployment,
        network: NetworkStack,
    ) -> None:
        """Make the groups. `version`: of the cluster. Nodes follow when it changes."""
        super().__init__(scope, id)
        self._cluster, self._version = cluster, version.version
        self._zones, self._subnets = deployment.zones, network.private
        self._role = iam.Role(
            self,
            "Role",
            description="Nodes of the cluster: to join it, to pull images, and to lend pods their roles",
            assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"),
            managed_policies=[
                iam.ManagedPolicy.from_aws_managed_policy_name(name)
                for name in ("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly")
            ],
        )
        self._gpu_template = self._launch_template("GpuTemplate", GPU_DISK, GPU_NODE_CONFIG)
        self.by_pool = {
            SYSTEM: self._group(
                SYSTEM,
                SYSTEM_INSTANCE_TYPES,
                ami_type=eks.NodegroupAmiType.AL2023_X86_64_STANDARD,
                template=self._launch_template("SystemTemplate", SYSTEM_DISK),
                least=SYSTEM_NODES,
                most=MOST_SYSTEM_NODES,
            ),
            GPU_SPOT: self._gpu_group(GPU_SPOT, deployment.gpu_instance_types, eks.CapacityType.SPOT),
        }
        if deployment.uses_on_demand_gpus:
            self.by_pool[GPU_ON_DEMAND] = self._gpu_group(
                GPU_ON_DEMAND, deployment.gpu_instance_types, eks.CapacityType.ON_DEMAND
            )

    def _gpu_group(self, pool: str, instance_types: Sequence[str], capacity_type: eks.CapacityType) -> eks.Nodegroup:
        group = self._group(
            pool,
            instance_types,
            ami_type=eks.NodegroupAmiType.AL2023_X86_64_NVIDIA,
            capacity_type=capacity_type,
            template=self._gpu_template,
            taints=[
                eks.TaintSpec(key=GPU_TAINT["key"], value=GPU_TAINT["value"], effect=_EFFECTS[GPU_TAINT["effect"]])
            ],
            labels=GPU_LABELS,
            most=MOST_GPU_NODES,
        )
        # The default starts new nodes before it ends old ones, GPU nodes that nobody needs and a quota may refuse.
        _resource(group).update_config = eks.CfnNodegroup.UpdateConfigProperty(
            max_unavailable=1, update_strategy="MINIMAL"
        )
        return group

    def _group(
        self,
        pool: str,
        instance_types: Sequence[str],
        *,
        ami_type: eks.NodegroupAmiType,
        template: ec2.LaunchTemplate,
        most: int,
        least: int = 0,
        capacity_type: eks.CapacityType = eks.CapacityType.ON_DEMAND,
        labels: Mapping[str, str] | None = None,
        taints: Sequence[eks.TaintSpec] = (),
    ) -> eks.Nodegroup:
        group = eks.Nodegroup(
            self,
            pool,
            cluster=self._cluster,
            nodegroup_name=f"{pool}-{self._digest(ami_type.value, *instance_types)}",
            node_role=self._role,
            subnets=self._subnets,
            ami_type=ami_type,
            capacity_type=capacity_type,
            instance_types=[ec2.InstanceType(name) for name in instance_types],
            launch_template_spec=eks.LaunchTemplateSpec(
                id=cast("str", template.launch_template_id), version=template.latest_version_number
            ),
            labels={POOL: pool, **(labels or {})},
            taints=list(taints),
            min_size=least,
            # EKS demands all three sizes of a new group. CloudFormation sends them again when one changes, which no
            # setting does (docs/decisions/0106): from then on the size is the autoscaler's business.
            desired_size=least,
            max_size=most,
            enable_node_auto_repair=True,
        )
        _resource(group).version = self._version
        return group

    def _digest(self, *choices: str) -> str:
        """Return a digest of the settings whose change makes CloudFormation replace a group. It can only make the new
        one next to the old one, under another name."""
        return hashlib.sha256(",".join((*choices, *self._zones)).encode()).hexdigest()[:6]

    def _launch_template(self, id: str, disk: int, config: str | None = None) -> ec2.LaunchTemplate:
        user_data = ec2.MultipartUserData()
        if config:
            user_data.add_part(ec2.MultipartBody.from_raw_body(content_type="application/node.eks.aws", body=config))
        return ec2.LaunchTemplate(
            self,
            id,
            # One hop: pods do not reach the node's credentials. They have their own, from the agent on the node.
            http_tokens=ec2.LaunchTemplateHttpTokens.REQUIRED,
            http_put_response_hop_limit=1,
            block_devices=[
                ec2.BlockDevice(
                    device_name="/dev/xvda",
                    volume=ec2.BlockDeviceVolume.ebs(disk, volume_type=ec2.EbsDeviceVolumeType.GP3, encrypted=True),
                )
            ],
            user_data=user_data if config else None,
        )


def _resource(group: eks.Nodegroup) -> eks.CfnNodegroup:
    return cast("eks.CfnNodegroup", group.node.default_child)
