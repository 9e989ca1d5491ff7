"""The worker on GPU nodes: shards of all models, from three queues."""

from __future__ import annotations

from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from adapters.settings import processes, scaling
from adapters.settings.database_roles import SYSTEM_ROLE
from adapters.settings.objects import SHARDS
from adapters.settings.queues import SHARD_QUEUES
from cdk.cluster.placement import GPU_LABELS, GPU_TOLERATIONS, NAMESPACE, WORKER_PORT
from cdk.data.stack import DataStack
from cdk.deployment import Deployment
from cdk.workload.pod import SCRATCH, Resources, make_worker_pod
from cdk.workload.pod_account import PodAccount
from cdk.workload.priorities import WORKER
from cdk.workload.scaled_worker import ScaledWorker, TriggerAuthentication
from cdk.workload.worker_access import grant_work

NAME = "gpu-worker"
GIB = 1024**3
#: Of the smallest node, a g4dn.2xlarge: 8 processors, 32 GiB and 209 GiB of NVMe, less what the kubelet, the system and
#: the DaemonSets keep.
RESOURCES = Resources(processors="7", memory="26Gi", shared_memory="4Gi", scratch="160Gi", gpus=1)


class GpuWorker(Construct):
    """One worker for each GPU, at most `max_gpu_workers`: the node groups set no limit below it."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        deployment: Deployment,
        data: DataStack,
        cluster: eks.ICluster,
        image: str,
        authentication: TriggerAuthentication,
    ) -> None:
        super().__init__(scope, id)
        account = PodAccount(self, "Account", cluster=cluster, name=NAME, namespace=NAMESPACE)
        grant_work(
            account.role,
            deployment=deployment,
            data=data,
            takes_from=SHARD_QUEUES,
            reads=[data.models],
            writes=f"{SHARDS}*",
        )
        settings = processes.WorkerSettings(
            **deployment.traced,
            region=deployment.region,
            database_dsn=data.database.make_dsn(SYSTEM_ROLE),
            database_iam=True,
            slides_bucket=data.slides.bucket_name,
            allowed_buckets=",".join(deployment.allowed_buckets),
            source_role=data.source_role,
            queue_prefix=deployment.queue_prefix,
            results_bucket=data.results.bucket_name,
            models_bucket=data.models.bucket_name,
            device="cuda",
            decode_workers=6,  # of 8 processors: one feeds the GPU, one fetches and writes
            model_cache=f"{SCRATCH}/models",
            scratch=f"{SCRATCH}/slides",
            max_scratch_bytes=40 * GIB,  # a slide; three stay open
            health_port=WORKER_PORT,
        )
        scaled = ScaledWorker(
            self,
            "Scaled",
            cluster=cluster,
            name=NAME,
            region=deployment.region,
            authentication=authentication,
            queues=[data.queues[name] for name in SHARD_QUEUES],
            messages_a_worker=scaling.SHARDS_A_WORKER,
            most=deployment.max_gpu_workers,
            pod=make_worker_pod(
                name=NAME,
                image=image,
                arguments=["python", "-m", "gpu_worker"],
                settings=settings,
                port=WORKER_PORT,
                account=account.name,
                priority_class=WORKER,
                resources=RESOURCES,
                node_selector=GPU_LABELS,
                tolerations=GPU_TOLERATIONS,
            ),
        )
        scaled.node.add_dependency(account)
