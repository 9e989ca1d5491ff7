"""Names of what a worker tells on GET /metrics: for who counts, and for who draws and watches.

Prometheus' rules: base units in the name, counters end in _total. No label tells of a job, a slide or a tenant.
"""

from __future__ import annotations

PREFIX = "tessera_worker_"

#: {outcome=…}, how the work on a shard ended: "committed"; given back since the worker leaves ("drained") or since S3
#: does not answer ("unavailable"); the lease went to another ("lost"); an error in the worker ("failed"); an error that
#: no attempt can help and that ends the job ("job_failed").
SHARDS = PREFIX + "shards_total"
TILES = PREFIX + "tiles_total"  #: {result="inferred" | "unreadable"}; of runs that ended or drained
PADDED_TILES = PREFIX + "padded_tiles_total"  #: rows computed for nothing, to fill a batch
FORWARD_SECONDS = PREFIX + "forward_seconds_total"  #: in the model
#: From the first wish for a batch to the last batch: forward ÷ run is gpu_busy_ratio.
RUN_SECONDS = PREFIX + "run_seconds_total"
#: {stage="fetch" | "decode" | "batch" | "forward"}: what the stage after it waited for it.
STAGE_WAIT_SECONDS = PREFIX + "stage_wait_seconds_total"
SHARD_SECONDS = PREFIX + "shard_seconds_total"  #: with a shard, from its lease to its end
IDLE_SECONDS = PREFIX + "idle_seconds_total"  #: asking for work and finding none
FAILED_POLLS = PREFIX + "failed_polls_total"  #: queues or Postgres did not answer
LEASES_HELD = PREFIX + "leases_held"
STATE = PREFIX + "state"  #: {state="waiting" | "running" | "leaving"}: 1 for the one it is in, else 0
SILENT_SECONDS = PREFIX + "silent_seconds"  #: since the work last went a step forward

#: {outcome=…}, how the work on a heavy plan ended: "done" (the job FAILED with a reason among them); given back since
#: the process leaves ("returned"); an error, and the message comes again ("failed") or was the last ("given_up").
PLANS = PREFIX + "plans_total"
PLAN_SECONDS = PREFIX + "plan_seconds_total"
