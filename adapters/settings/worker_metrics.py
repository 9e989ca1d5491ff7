"""Names of the metrics that a worker reports on GET /metrics: for the worker, and for dashboards and alarms.

Prometheus' rules: base units in the name, counters end in _total. Where no type is stated, a name without it is a
summary, reported as NAME_sum and NAME_count, with one observation a shard. Series of shards carry {model, version} of
`OF_A_MODEL`, of the first `MODELS` that a process meets; later ones share "other". No label names a job, a slide or a
tenant. Where several GPUs share a machine (device cuda:all), every series has the label gpu.
"""

from __future__ import annotations

from typing import Final

PREFIX: Final = "wsi_"
OF_A_MODEL: Final = ("model", "version")
MODELS: Final = 16
STAGES: Final = ("fetch", "decode", "batch", "forward", "write")
#: (stage, side) that can wait. Fetching waits in requests, which are its work; decoders assemble a batch.
WAITS: Final = (("fetch", "out"), ("decode", "in"), ("decode", "out"), ("forward", "in"))
#: Of a start until a model accepts tiles. The kubelet loads the image, which no process can observe.
PHASES: Final = ("weights", "warm_up")

#: {outcome=…}, how the work on a shard ended: "committed"; given back since the worker leaves ("drained"), since S3
#: does not answer or this disk is full ("unavailable"), since this GPU cannot hold the model's batch ("unsuitable") or
#: broke ("device"), or since a newer release planned it ("newer"); the lease went to another ("lost"); no step for too
#: long ("stuck"); an error in the worker ("failed"); an error that no attempt can help and that ends the job
#: ("job_failed").
SHARDS = PREFIX + "shards_total"
#: {reason=…}: the stable code of the error (`wsi.errors`) for each shard neither committed nor drained.
SHARDS_FAILED = PREFIX + "shards_failed_total"
TILES = PREFIX + "tiles_total"  #: {result="inferred" | "unreadable"}; of runs that ended or drained
TILES_PADDED = PREFIX + "tiles_padded_total"  #: rows computed for nothing, to fill a batch
BATCHES = PREFIX + "batches_total"  #: tiles ÷ batches is the mean batch
BATCH_FILL_RATIO = PREFIX + "batch_fill_ratio"  #: gauge: of the last shard's rows, those that held a tile
GPU_BUSY_RATIO = PREFIX + "gpu_busy_ratio"  #: gauge: of the last shard, stage_seconds{forward} ÷ run_seconds
#: Counter: from the first forward to the last. rate(stage_seconds_sum{stage="forward"}) ÷ rate(run_seconds_total) is
#: gpu_busy_ratio over any time and any number of workers.
RUN_SECONDS = PREFIX + "run_seconds_total"
#: {stage}: time of its own work, of all its threads or processes together. "batch": CPU of giving out rows and jobs.
STAGE_SECONDS = PREFIX + "stage_seconds"
#: {stage, side}: time of waiting. "in": for input; "out": for room in the next stage.
STAGE_WAIT_SECONDS = PREFIX + "stage_wait_seconds"
SHARD_SECONDS = PREFIX + "shard_seconds"  #: with a shard, from its lease to its end
TIME_TO_FIRST_TILE_SECONDS = PREFIX + "time_to_first_tile_seconds"  #: from a lease to the first scores of its tiles
COLD_START_SECONDS = PREFIX + "cold_start_seconds"  #: gauge, {phase}: of the model's last loading
S3_GETS = PREFIX + "s3_gets_total"  #: of slides
S3_BYTES = PREFIX + "s3_bytes_total"
GPU_ENERGY_JOULES = PREFIX + "gpu_energy_joules_total"  #: of the device, by NVML; not reported where there is none

_WORKER = PREFIX + "worker_"
IDLE_SECONDS = _WORKER + "idle_seconds_total"  #: asking for work and finding none
FAILED_POLLS = _WORKER + "failed_polls_total"  #: queues or Postgres did not answer
SPANS_LOST = _WORKER + "spans_lost_total"  #: of traces: X-Ray did not take them, or too many waited
LEASES_HELD = _WORKER + "leases_held"  #: gauge
STATE = _WORKER + "state"  #: gauge, {state="waiting" | "running" | "leaving"}: 1 for the one it is in, else 0
SILENT_SECONDS = _WORKER + "silent_seconds"  #: gauge: since the last step of the work

#: {outcome=…}, how the work on a heavy plan ended: "done" (the job FAILED with a reason among them); given back since
#: the process leaves ("returned"); an error, and the message comes again ("failed") or was the last ("given_up").
PLANS = PREFIX + "plans_total"
PLAN_SECONDS = PREFIX + "plan_seconds"

SUMMARIES: Final = (STAGE_SECONDS, STAGE_WAIT_SECONDS, SHARD_SECONDS, TIME_TO_FIRST_TILE_SECONDS, PLAN_SECONDS)
COUNTERS: Final = (
    *(SHARDS, SHARDS_FAILED, TILES, TILES_PADDED, BATCHES, RUN_SECONDS, S3_GETS, S3_BYTES, GPU_ENERGY_JOULES),
    *(IDLE_SECONDS, FAILED_POLLS, SPANS_LOST, PLANS),
)
GAUGES: Final = (BATCH_FILL_RATIO, GPU_BUSY_RATIO, COLD_START_SECONDS, LEASES_HELD, STATE, SILENT_SECONDS)


def list_series() -> frozenset[str]:
    """Return every name under which samples are reported."""
    return frozenset((*COUNTERS, *GAUGES, *(f"{name}_{part}" for name in SUMMARIES for part in ("sum", "count"))))
