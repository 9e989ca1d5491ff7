from __future__ import annotations

from collections.abc import Callable

from adapters.settings.tracing import WRITING
from tests.cdk.faults.fault import Fault, at
from tests.cdk.observability import test_traces as traces
from tests.cdk.templates import Templates


def without_the_right(policy: str) -> Callable[[Templates], None]:
    """Seeds a policy that does not allow to write traces."""

    def seed(templates: Templates) -> None:
        for resource in at(templates, policy):
            document = resource["Properties"]["PolicyDocument"]
            document["Statement"] = [said for said in document["Statement"] if WRITING not in said["Action"]]

    return seed


def another_share(templates: Templates) -> None:
    [function] = at(templates, "api/Functions/stitch/Resource")
    function["Properties"]["Environment"]["Variables"]["TESSERA_TRACE_SHARE"] = "0.5"


FAULTS = (
    Fault(
        "a function records spans that it may not write",
        without_the_right("api/Functions/planRole/DefaultPolicy/Resource"),
        (traces.test_every_function_that_records_spans_may_write_them,),
    ),
    Fault(
        "the worker records spans that it may not write",
        without_the_right("workload/GpuWorker/Account/Role/DefaultPolicy/Resource"),
        (traces.test_every_worker_that_records_spans_may_write_them,),
    ),
    Fault(
        "a function leaves gaps in the traces of others",
        another_share,
        (traces.test_all_of_them_record_the_same_traces,),
    ),
)
