"""The load of an installation: its slides, and the resources that one of them takes. Each default is of the example in
docs/how-to/deploy.md or an assumption, and says which."""

from __future__ import annotations

from dataclasses import dataclass

DAYS_A_MONTH = 365 / 12
#: CloudWatch stores logs packed; its price page counts 15 % of what was ingested.
_STORED_SHARE = 0.15


@dataclass(frozen=True, kw_only=True, slots=True)
class Load:
    """Slides a day, and what one of them takes. Each slide is analysed once when it arrives."""

    slides_a_day: float
    gib_a_slide: float = 4  #: the example; AWS's "GB" of storage and traffic is this unit
    gpu_seconds_a_slide: float = 300  #: the example; with the slide's share of boot and waiting
    on_demand_share: float = 0  #: of the GPU hours: those for which there was no spot capacity
    kept_days: float = 365  #: age at which slides and results are deleted; Tessera itself deletes none
    #: Runs and viewings a month of a slide in cold storage, each of which reads `read_share` of it. An assumption.
    cold_reads_a_month: float = 0.05
    read_share: float = 0.3  #: the example: 1.2 GB of 4, what lies under tissue
    gets_a_read: float = 150  #: the example: ranges of up to 8 MB
    puts_a_slide: float = 120  #: parts of the upload, checkpoints, results. An assumption
    result_gib_a_slide: float = 0.05  #: an assumption: a table of some 10,000 tiles, its images and shards
    downloaded_gib_a_slide: float = 0.1  #: to the internet: results and viewed tiles. An assumption
    requests_a_slide: float = 500  #: of the API, most of them for viewer tiles. An assumption
    messages_a_slide: float = 200  #: requests to SQS. An assumption
    function_gib_seconds_a_slide: float = 300  #: inspect, plan, stitch, and 500 answers of the API. An assumption
    log_gib_a_slide: float = 0.005  #: an assumption
    #: Of GPU nodes, one a slide at most. Each pulls 1 GB of images through NAT. An assumption.
    node_starts_a_day: float = 10
    image_builds_a_month: float = 4  #: of the worker's image, where CodeBuild builds it. An assumption
    image_build_minutes: float = 15  #: an assumption
    idle_log_gib_a_month: float = 15  #: control plane, pods, database and flow logs without a slide. An assumption
    prometheus_series: float = 500  #: that the scraper keeps without a slide. An assumption

    @property
    def slides_a_month(self) -> float:
        return self.slides_a_day * DAYS_A_MONTH

    @property
    def gpu_hours_a_month(self) -> float:
        return self.slides_a_month * self.gpu_seconds_a_slide / 3600


def compute_stored_log_gib(gib_a_month: float, log_days: int) -> float:
    """Return what CloudWatch stores of logs that are kept for `log_days`."""
    return gib_a_month * _STORED_SHARE * log_days / DAYS_A_MONTH
