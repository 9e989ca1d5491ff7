"""The worker for plans and results that exceed a function's time or disk: the same image without a GPU, next to the
controllers."""

from __future__ import annotations

from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from adapters.settings import processes, scaling
from adapters.settings.database_roles import SYSTEM_ROLE
from adapters.settings.queues import HEAVY as QUEUE
from cdk.cluster.placement import NAMESPACE, SYSTEM_LABELS, WORKER_PORT
from cdk.data.stack import DataStack
from cdk.deployment import Deployment
from cdk.workload.pod import SCRATCH, Resources, make_worker_pod
from cdk.workload.pod_account import PodAccount
from cdk.workload.priorities import HEAVY
from cdk.workload.scaled_worker import ScaledWorker, TriggerAuthentication
from cdk.workload.worker_access import grant_work

NAME = "heavy-worker"
#: The largest slide without an index of ours has 8 GB; it is copied to the disk and read by OpenSlide.
RESOURCES = Resources(processors="1", memory="8Gi", shared_memory="1Gi", scratch="20Gi")


class HeavyWorker(Construct):
    """One worker for each plan or result, at most as many as the load asks for."""

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
            takes_from=[QUEUE],
            reads=[],
            writes="*/jobs/*",
            writing=("s3:PutObject", "s3:AbortMultipartUpload"),  # files of gigabytes go in parts
        )
        settings = processes.HeavySettings(
            **deployment.traced,
            region=deployment.region,
            database_dsn=data.database.make_dsn(SYSTEM_ROLE),
            database_iam=True,
            slides_bucket=data.slides.bucket_name,
            allowed_buckets=",".join(deployment.allowed_buckets),
            source_role=data.source_role,
            queue_prefix=deployment.queue_prefix,
            results_bucket=data.results.bucket_name,
            scratch=f"{SCRATCH}/slides",
            health_port=WORKER_PORT,
        )
        scaled = ScaledWorker(
            self,
            "Scaled",
            cluster=cluster,
            name=NAME,
            region=deployment.region,
            authentication=authentication,
            queues=[data.queues[QUEUE]],
            messages_a_worker=scaling.HEAVY_A_WORKER,
            most=deployment.scale.heavy_workers,
            pod=make_worker_pod(
                name=NAME,
                image=image,
                arguments=["python", "-m", "gpu_worker.heavy"],
                settings=settings,
                port=WORKER_PORT,
                account=account.name,
                priority_class=HEAVY,
                resources=RESOURCES,
                node_selector=SYSTEM_LABELS,
                tolerations=[],
            ),
        )
        scaled.node.add_dependency(account)
