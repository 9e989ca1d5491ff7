"""Prometheus' usual annotations, by which a pod offers its metrics.

The scraper is not in the cluster: it comes from network interfaces in the private subnets, so network policies must let
the VPC's addresses in.
"""

from __future__ import annotations


def make_annotations(port: int) -> dict[str, str]:
    """Return the annotations of a pod that answers /metrics on `port`. Its label `app.kubernetes.io/name` becomes the
    job."""
    return {"prometheus.io/scrape": "true", "prometheus.io/port": str(port)}
