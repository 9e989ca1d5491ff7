"""What is scraped, and the metrics that each tells of, by the documentation of the version that is deployed."""

from __future__ import annotations

import re
from collections.abc import Mapping

from adapters.settings import worker_metrics

WORKER = worker_metrics.list_series()

#: dcgm-exporter 4, etc/default-counters.csv.
DCGM = frozenset(
    f"DCGM_FI_DEV_{name}"
    for name in (
        *("SM_CLOCK", "MEM_CLOCK", "MEMORY_TEMP", "GPU_TEMP", "POWER_USAGE", "TOTAL_ENERGY_CONSUMPTION"),
        *("PCIE_REPLAY_COUNTER", "GPU_UTIL", "MEM_COPY_UTIL", "ENC_UTIL", "DEC_UTIL", "XID_ERRORS", "FB_FREE"),
        *("FB_USED", "NVLINK_BANDWIDTH_TOTAL", "VGPU_LICENSE_STATUS", "UNCORRECTABLE_REMAPPED_ROWS"),
        *("CORRECTABLE_REMAPPED_ROWS", "ROW_REMAP_FAILURE"),
    )
)

#: KEDA 2.20, "Integrate with Prometheus", the operator's.
KEDA = frozenset(
    f"keda_{name}"
    for name in (
        *("build_info", "scaler_active", "scaled_object_paused", "scaler_metrics_value"),
        *("scaler_metrics_latency_seconds", "scaler_detail_errors_total", "scaler_empty_upstream_responses_total"),
        *("scaled_object_errors_total", "scaled_job_errors_total", "resource_registered_total"),
        *("trigger_registered_total", "internal_scale_loop_latency_seconds"),
    )
)

#: kube-state-metrics 2, docs/metrics; of pods, jobs and nodes, what needs no opt-in.
KUBE_STATE = frozenset(
    f"kube_{name}"
    for name in (
        *("pod_info", "pod_created", "pod_status_phase", "pod_status_ready", "pod_status_scheduled"),
        *("pod_deletion_timestamp", "pod_container_status_terminated_reason", "pod_container_status_restarts_total"),
        *("job_status_active", "job_status_failed", "job_status_succeeded", "job_status_start_time"),
        *("node_info", "node_labels", "node_status_condition", "node_spec_unschedulable"),
    )
)

EXPORTED: Mapping[str, frozenset[str]] = {
    "gpu-worker": WORKER,
    "dcgm-exporter": DCGM,
    "keda-operator": KEDA,
    "kube-state-metrics": KUBE_STATE,
}
OF_THE_SCRAPER = frozenset({"up"})

_LISTS = r"\b(?:by|on|without|ignoring|group_left|group_right)\s*\([^)]*\)"
_WORDS = frozenset({"and", "or", "unless", "offset", "bool"})
_NAME = re.compile(r"(?<![\w:$.])([a-zA-Z_:][\w:]*)(?!\s*\()(?![\w:])")


def metrics_of(expression: str) -> set[str]:
    """Names of the series that a PromQL expression reads."""
    bare = re.sub(r"\{[^}]*\}|\[[^\]]*\]|" + _LISTS, " ", expression)
    return {name for name in _NAME.findall(bare) if name not in _WORDS}
