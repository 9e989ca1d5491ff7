"""The lines of a bill that slides cause."""

from __future__ import annotations

from collections.abc import Iterator

from adapters.settings.prices import HOURS_A_MONTH
from tessera.costs import configuration as installed
from tessera.costs.bill_line import BillLine
from tessera.costs.configuration import Configuration
from tessera.costs.load import DAYS_A_MONTH, Load, compute_stored_log_gib
from tessera.costs.recovery_lines import list_replicas

_GIB_OF_A_NODE_START = 1  #: images from other registries than ECR, whose layers come through S3's endpoint
_LEAST_COLD_DAYS = 90  #: charged for an object in Instant Retrieval, though it was deleted sooner


def list_slide_lines(configuration: Configuration, load: Load) -> Iterator[BillLine]:
    """Yield the lines."""
    yield from _list_nodes(load)
    yield from _list_originals(configuration, load)
    yield from _list_objects(load)
    yield from _list_requests(load)
    yield from _list_logs(configuration, load)
    yield from _list_traces(configuration, load)
    yield from list_replicas(configuration, load)


def _list_nodes(load: Load) -> Iterator[BillLine]:
    hours = load.gpu_hours_a_month
    on_demand = hours * load.on_demand_share
    starts = min(load.node_starts_a_day, load.slides_a_day) * DAYS_A_MONTH
    yield BillLine("EC2", "GPU nodes for slides, spot", hours - on_demand, "EC2 g6.2xlarge spot")
    yield BillLine("EC2", "GPU nodes for slides, on demand", on_demand, "EC2 g6.2xlarge")
    yield BillLine("EBS", "disks of GPU nodes", installed.GPU_DISK_GB * hours / HOURS_A_MONTH, "EBS gp3")
    yield BillLine("VPC", "images of GPU nodes through NAT", starts * _GIB_OF_A_NODE_START, "NAT traffic")


def _list_originals(configuration: Configuration, load: Load) -> Iterator[BillLine]:
    hot_days = min(configuration.instant_retrieval_after_days, load.kept_days)
    cold_slides = load.slides_a_day * (load.kept_days - hot_days)
    charged_days = max(load.kept_days - hot_days, _LEAST_COLD_DAYS) if cold_slides else 0
    hot, cold = (load.slides_a_day * days * load.gib_a_slide for days in (hot_days, charged_days))
    moves = load.slides_a_month if cold_slides else 0
    reads = cold_slides * load.cold_reads_a_month
    read_gib = reads * load.read_share * load.gib_a_slide
    gets = reads * load.gets_a_read
    yield BillLine("S3", f"originals of the last {hot_days:.0f} days, Standard", hot, "S3 Standard")
    yield BillLine("S3", "older originals, Instant Retrieval", cold, "S3 Glacier Instant Retrieval")
    yield BillLine("S3", "moves to Instant Retrieval", moves / 1e3, "S3 transition to Glacier Instant Retrieval")
    yield BillLine("S3", "reads of older originals", read_gib, "S3 Glacier Instant Retrieval read")
    yield BillLine("S3", "requests for older originals", gets / 1e3, "S3 Glacier Instant Retrieval GET")


def _list_objects(load: Load) -> Iterator[BillLine]:
    results = load.slides_a_day * load.kept_days * load.result_gib_a_slide
    gets, puts = load.slides_a_month * load.gets_a_read, load.slides_a_month * load.puts_a_slide
    downloads = load.slides_a_month * load.downloaded_gib_a_slide
    yield BillLine("S3", "results, Standard", results, "S3 Standard")
    yield BillLine("S3", "GET", gets / 1e3, "S3 GET")
    yield BillLine("S3", "PUT", puts / 1e3, "S3 PUT")
    yield BillLine("CloudTrail", "reads and writes of objects", (gets + puts) / 1e6, "CloudTrail data event")
    yield BillLine("Internet", "results and viewed tiles", downloads, "traffic to the internet")


def _list_requests(load: Load) -> Iterator[BillLine]:
    calls = load.slides_a_month * load.requests_a_slide / 1e6
    work = load.slides_a_month * load.function_gib_seconds_a_slide / 1e6
    messages = load.slides_a_month * load.messages_a_slide / 1e6
    yield BillLine("WAF", "requests", calls, "WAF request")
    yield BillLine("API Gateway", "requests", calls, "API Gateway request")
    yield BillLine("Lambda", "requests for slides", calls, "Lambda request")
    yield BillLine("Lambda", "slides", work, "Lambda arm64")
    yield BillLine("SQS", "messages", messages, "SQS request")


def _list_logs(configuration: Configuration, load: Load) -> Iterator[BillLine]:
    gib = load.slides_a_month * load.log_gib_a_slide
    stored_gib = compute_stored_log_gib(gib, configuration.log_days)
    yield BillLine("CloudWatch", "logs of slides", gib, "CloudWatch logs, ingestion")
    yield BillLine("CloudWatch", "logs of slides, stored", stored_gib, "CloudWatch logs, storage")


def _list_traces(configuration: Configuration, load: Load) -> Iterator[BillLine]:
    # Charged by the trace, whatever its spans; one leads from the upload of a slide to the results.
    traces = load.slides_a_month * configuration.trace_share
    yield BillLine("X-Ray", "traces of slides", traces / 1e6, "X-Ray trace")
