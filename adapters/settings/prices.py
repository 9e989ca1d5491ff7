"""The one table of AWS prices: what dry runs, the bill of `tessera admin cost` and the documents calculate with.

Prices are on demand, in dollars, for us-east-1, without free tiers and taxes. A deployment of another region pays some
percent more: eu-central-1 too, where Tessera deploys by default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

REGION = "us-east-1"
LIST_VERSION = "20260924"
HOURS_A_MONTH = 730


@dataclass(frozen=True, slots=True)
class Price:
    """A price of one unit. `source` says where it was read and when."""

    dollars: float
    unit: str
    source: str

    @property
    def was_checked(self) -> bool:
        """True if the price was compared with AWS's own list."""
        return self.source == LIST


LIST = f"AWS Price List, version {LIST_VERSION}"
_S3_CLASSES = "table of S3 classes on costnimbus.com, March 2026"
_CLOUDWATCH = "guides to CloudWatch's prices on cloudburn.io (February 2026) and factualminds.com (June 2026)"
_XRAY = "aws.amazon.com/xray/pricing, an archived copy, read on 2026-11-30"
_SEEN = "public pages, 2026, not noted which"
_MEMORY = "AWS's price pages, from memory, not checked on 2026-11-30"

PRICES: Mapping[str, Price] = MappingProxyType(
    {
        "EKS cluster": Price(0.10, "h", LIST),
        "EC2 r7i.large": Price(0.1323, "h", _SEEN),
        "EC2 g6.2xlarge": Price(0.9776, "h", LIST),
        "EC2 g6.2xlarge spot": Price(0.53, "h", "README of AWS's own sample, us-west-2, March 2026"),
        "EBS gp3": Price(0.08, "GB month", _MEMORY),
        "NAT gateway": Price(0.045, "h", LIST),
        "NAT traffic": Price(0.045, "GB", LIST),
        "public IPv4 address": Price(0.005, "h", _MEMORY),
        "traffic to the internet": Price(0.09, "GB", LIST),
        "RDS t4g.medium": Price(0.065, "h", LIST),
        "RDS m7g.large": Price(0.168, "h", _SEEN),
        "RDS storage gp3": Price(0.115, "GB month", _SEEN),
        "RDS Proxy": Price(0.015, "vCPU h", _SEEN),
        "S3 Standard": Price(0.023, "GB month", LIST),
        "S3 GET": Price(0.0004, "1,000 requests", LIST),
        "S3 PUT": Price(0.005, "1,000 requests", LIST),
        "S3 Glacier Instant Retrieval": Price(0.004, "GB month", _S3_CLASSES),
        "S3 Glacier Instant Retrieval read": Price(0.03, "GB", _S3_CLASSES),
        "S3 Glacier Instant Retrieval GET": Price(0.01, "1,000 requests", _MEMORY),
        "S3 transition to Glacier Instant Retrieval": Price(0.02, "1,000 requests", _MEMORY),
        "S3 Glacier Instant Retrieval PUT": Price(0.02, "1,000 requests", _MEMORY),
        "S3 replication in 15 minutes": Price(0.015, "GB", _MEMORY),
        "traffic to a second region": Price(0.02, "GB", _MEMORY),
        "RDS backup storage": Price(0.095, "GB month", _MEMORY),
        "KMS key": Price(1.0, "month", _SEEN),
        "Secrets Manager secret": Price(0.40, "month", _MEMORY),
        "WAF ACL": Price(5.0, "month", _SEEN),
        "WAF rule": Price(1.0, "month", _SEEN),
        "WAF request": Price(0.60, "million requests", _MEMORY),
        "API Gateway request": Price(3.50, "million requests", LIST),
        "Lambda arm64": Price(13.3334, "million GB s", _MEMORY),
        "Lambda request": Price(0.20, "million requests", _MEMORY),
        "SQS request": Price(0.40, "million requests", LIST),
        "CloudWatch alarm": Price(0.10, "metric month", _CLOUDWATCH),
        "CloudWatch composite alarm": Price(0.50, "month", _MEMORY),
        "CloudWatch metric": Price(0.30, "month", _CLOUDWATCH),
        "CloudWatch dashboard": Price(3.0, "month", _CLOUDWATCH),
        "CloudWatch logs, ingestion": Price(0.50, "GB", _CLOUDWATCH),
        "CloudWatch logs, storage": Price(0.03, "GB month", _MEMORY),
        "CodeBuild general1.medium": Price(0.01, "min", "page of CodeBuild projects on c3x.dev, undated"),
        "CloudTrail data event": Price(1.0, "million events", _MEMORY),
        "X-Ray trace": Price(5.0, "million traces", _XRAY),
        "Prometheus collector": Price(0.04, "h", _MEMORY),
        "Prometheus sample, collected": Price(0.015, "million samples", _MEMORY),
        "Prometheus sample, ingested": Price(0.09, "million samples", _MEMORY),
    }
)

#: Of one GPU worker, which has a node for itself: what dry runs and the costs of jobs calculate with.
DOLLARS_PER_GPU_HOUR = PRICES["EC2 g6.2xlarge spot"].dollars
#: What a savings plan or a reserved instance of one year without prepayment costs of the price on demand. A usual rate,
#: from memory, not checked on 2026-11-30: the rate differs between types.
PLAN_SHARE = 0.62


def get_price(name: str) -> Price:
    """Return the price of this name. Raises KeyError."""
    return PRICES[name]
