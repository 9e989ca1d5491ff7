"""A Helm chart in a pinned version. It waits until its pods run, and leaves nothing behind if they do not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

#: The function that runs helm is stopped after 15 minutes; a chart that waits that long is left half done (F-55).
TIMEOUT = cdk.Duration.minutes(10)
REPLICAS = 2  #: of a controller: one leads, the other takes over when a node goes


class Chart(eks.HelmChart):
    """A chart, whose namespace must exist. Charts silently ignore values that they do not know: each value given here
    was looked up in the templates of that version."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: eks.ICluster,
        repository: str,
        name: str,
        version: str,
        namespace: str,
        values: Mapping[str, Any],
    ) -> None:
        super().__init__(
            scope,
            id,
            cluster=cluster,
            repository=repository,
            chart=name,
            release=name,
            version=version,
            namespace=namespace,
            create_namespace=False,
            values=values,
            wait=True,
            atomic=True,
            timeout=TIMEOUT,
        )


def spread_over_zones(labels: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return constraints that spread a controller's pods over zones, as far as these have nodes."""
    return [
        {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {**labels}},
        }
    ]


def limit_memory(request: str, limit: str, processors: str) -> dict[str, Any]:
    """Return a container's resources. Processors are not limited: idle ones may be used."""
    return {"requests": {"cpu": processors, "memory": request}, "limits": {"memory": limit}}
