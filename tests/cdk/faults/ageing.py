from __future__ import annotations

from tests.cdk import test_versions as versions
from tests.cdk.faults.fault import Fault, set_at
from tests.cdk.manifests import CHART
from tests.cdk.templates import Templates


def a_chart_of_another_version(templates: Templates) -> None:
    chart = next(iter(templates.resources(CHART).values()))
    chart["Properties"]["Version"] = "0.0.1"


FAULTS = (
    Fault(
        "Postgres is pinned to a minor version that RDS leaves behind",
        set_at("data/Database/Instance/Resource", EngineVersion="18.3"),
        (versions.test_postgres_is_pinned_by_its_major_version_and_upgrades_by_itself,),
    ),
    Fault(
        "Postgres stays on the minor version of its first day",
        set_at("data/Database/Instance/Resource", AutoMinorVersionUpgrade=False),
        (versions.test_postgres_is_pinned_by_its_major_version_and_upgrades_by_itself,),
    ),
    Fault(
        "a chart has a version that the table does not list",
        a_chart_of_another_version,
        (versions.test_every_chart_has_its_row,),
    ),
    Fault(
        "nodes stay behind the cluster",
        set_at("cluster/NodeGroups/*/Resource", Version="1.35"),
        (versions.test_cluster_and_nodes_have_the_pinned_kubernetes,),
    ),
)
