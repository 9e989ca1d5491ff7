"""A Helm chart in a pinned version, which waits until its pods run and leaves nothing behind when they do not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

#: The function that runs helm is stopped after 15 minutes; a chart that waits as long is left half done (F-55).
TIMEOUT = cdk.Duration.minutes(10)
REPLICAS = 2  #: of a controller: one leads, the other takes over when a node goes


class Chart(eks.HelmChart):
    """Its namespace must exist. Values that a chart does not know are passed over in silence: each that is given here
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


def over_zones(labels: Mapping[str, str]) -> list[dict[str, Any]]:
    """Spread of a controller's pods, as far as there are zones with nodes."""
    return [
        {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {**labels}},
        }
    ]


def memory(request: str, limit: str, processors: str) -> dict[str, Any]:
    """Processors are not limited: what is idle may be used."""
    return {"requests": {"cpu": processors, "memory": request}, "limits": {"memory": limit}}
