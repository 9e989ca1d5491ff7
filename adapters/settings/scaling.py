"""Thresholds at which KEDA starts a worker and a worker exits: for the ScaledJobs, for the workers themselves, and
for the simulation that these numbers were tried in (docs/explanation/scaling.md)."""

from __future__ import annotations

#: KEDA's terms (ScaledJob, `scalingStrategy` and the metadata of an aws-sqs-queue trigger).
STRATEGY = "default"
SCALE_ON_IN_FLIGHT = True
CALCULATION = "sum"  #: over the triggers, one a queue; KEDA's own default is "max" (F-12)
ACTIVATION_LENGTH = 0  #: strictly more messages than that start the first worker (F-14)
POLLING_SECONDS = 15

#: Messages a worker. Never below the leases that a worker holds: those are in flight, are counted, and would start a
#: worker that finds nothing.
SHARDS_A_WORKER = 3
HEAVY_A_WORKER = 1
LEASES_HELD = 2  #: by a worker: the shard that runs and the next one
IDLE_SECONDS = 90.0  #: a worker exits after this long without work
#: The autoscaler removes a node that has had no pod for this long, and none for this long after it requested one
#: (--scale-down-unneeded-time and --scale-down-delay-after-add; ten minutes each by default).
NODE_UNNEEDED_SECONDS = 120


def compute_shards_in_flight(workers: int) -> int:
    """Return the shards of one priority that may be in its queue and with workers. KEDA sees these messages alone, so
    there must be enough of them to start all workers; more would let one tenant's shards stand before another's."""
    return workers * SHARDS_A_WORKER
