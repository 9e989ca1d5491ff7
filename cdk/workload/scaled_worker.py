"""A worker that KEDA starts by the length of its queues: a Job each, which drains them and exits by itself (F-10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from adapters.settings import scaling
from cdk.cluster.placement import NAMESPACE

KEDA_API = "keda.sh/v1alpha1"
#: s. A worker that has been busy for that long drains as if its node ended, and another one starts. A worker that hangs
#: unnoticed is ended by it.
DEADLINE_SECONDS = 24 * 3600
KEPT_JOBS, KEPT_FAILURES = 5, 50  #: that ended, for their logs; failures are also counted by an alarm


class TriggerAuthentication(Construct):
    """`name`. KEDA's operator asks SQS as itself, by its own pod identity."""

    def __init__(self, scope: Construct, id: str, *, cluster: eks.ICluster) -> None:
        super().__init__(scope, id)
        self.name = "operator"
        eks.KubernetesManifest(
            self,
            "Authentication",
            cluster=cluster,
            manifest=[
                {
                    "apiVersion": KEDA_API,
                    "kind": "TriggerAuthentication",
                    "metadata": {"name": self.name, "namespace": NAMESPACE},
                    "spec": {"podIdentity": {"provider": "aws"}},
                }
            ],
        )


class ScaledWorker(Construct):
    """One ScaledJob, with a trigger for each queue."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: eks.ICluster,
        name: str,
        region: str,
        authentication: TriggerAuthentication,
        queues: Sequence[sqs.IQueue],
        messages_a_worker: int,
        most: int,
        pod: Mapping[str, Any],
    ) -> None:
        super().__init__(scope, id)
        triggers = [
            {
                "type": "aws-sqs-queue",
                # KEDA looks for all of it here, as strings, and ignores fields elsewhere (F-11, F-14).
                "metadata": {
                    "queueURL": queue.queue_url,
                    "awsRegion": region,
                    "queueLength": str(messages_a_worker),
                    "activationQueueLength": str(scaling.ACTIVATION_LENGTH),
                    "scaleOnInFlight": str(scaling.SCALE_ON_IN_FLIGHT).lower(),
                },
                "authenticationRef": {"name": authentication.name},
            }
            for queue in queues
        ]
        job = {
            "parallelism": 1,
            "completions": 1,
            "backoffLimit": 0,  # the lease and SQS are the retry
            # Otherwise a pod that is still draining is replaced by one that has nothing to do.
            "podReplacementPolicy": "Failed",
            "activeDeadlineSeconds": DEADLINE_SECONDS,
            "ttlSecondsAfterFinished": DEADLINE_SECONDS,
            "template": pod,
        }
        scaled = eks.KubernetesManifest(
            self,
            "ScaledJob",
            cluster=cluster,
            # KEDA copies labels and annotations of this object to its Jobs. With the label that `kubectl apply --prune`
            # goes by, each change of it would delete the Jobs that run, as leftovers (docs/decisions/0026).
            prune=False,
            manifest=[
                {
                    "apiVersion": KEDA_API,
                    "kind": "ScaledJob",
                    "metadata": {"name": name, "namespace": NAMESPACE},
                    "spec": {
                        "pollingInterval": scaling.POLLING_SECONDS,
                        "maxReplicaCount": most,
                        "successfulJobsHistoryLimit": KEPT_JOBS,
                        "failedJobsHistoryLimit": KEPT_FAILURES,
                        "rollout": {"strategy": "gradual"},  # KEDA's default deletes the Jobs that run (F-13)
                        "scalingStrategy": {
                            "strategy": scaling.STRATEGY,
                            "multipleScalersCalculation": scaling.CALCULATION,
                        },
                        "triggers": triggers,
                        "jobTargetRef": job,
                    },
                }
            ],
        )
        scaled.node.add_dependency(authentication)
