"""The recovery of an installation whose database was restored next to buckets of other names: invoked by
`scripts/restore.sh`, and allowed by IAM alone.

One action an invocation, a page at a time, `{"recover_slides": {}}`; the answer is an object, or
`{"error": sentence}`. It must be done before anything else of the installation runs: a planner would fail live jobs
whose slides it does not find.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from pydantic import ValidationError

from adapters.postgres.owner.connection import make_owner_dsn
from adapters.postgres.owner.recovery import PostgresRecovery
from adapters.s3.objects import S3Objects
from adapters.s3.slides import S3SlideStore
from adapters.settings.processes import RecoverySettings
from lambdas.cold_start import Handler, make_entry
from lambdas.logs import make_logger
from lambdas.schemas.actions import describe_faults
from lambdas.schemas.common import Body
from lambdas.schemas.recovery import CountRecords, RecoverJobs, RecoverModels, RecoverSlides, RecoveryAction
from lambdas.wiring import make_aws_clients
from wsi.errors import TesseraError
from wsi.ports.objects import ObjectHeads, Objects
from wsi.ports.recovery import RecoveryLedger
from wsi.recovery.jobs import recover_jobs
from wsi.recovery.models import recover_models
from wsi.recovery.slides import recover_slides

logger = make_logger("recover")


@dataclass(frozen=True, kw_only=True, slots=True)
class RecoveryWiring:
    """The restored database, and the buckets that took over."""

    ledger: RecoveryLedger
    slides: ObjectHeads
    packages: ObjectHeads
    results: Objects
    result_heads: ObjectHeads


def make_handler(wiring: RecoveryWiring) -> Handler:
    def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
        try:
            action = RecoveryAction.model_validate(event)
            answer = _carry_out(action.asked, wiring)
        except ValidationError as error:
            return {"error": describe_faults(error)}
        except TesseraError as error:
            return {"error": error.sentence}
        logger.info("recovered", extra={"action": next(iter(action.model_fields_set))})
        return answer

    return handle


def _carry_out(asked: Body, w: RecoveryWiring) -> dict[str, Any]:
    match asked:
        case CountRecords():
            return dict(w.ledger.count_records())
        case RecoverModels():
            return _make_answer(recover_models(ledger=w.ledger, packages=w.packages))
        case RecoverSlides():
            return _make_answer(
                recover_slides(
                    ledger=w.ledger,
                    slides=w.slides,
                    inspections=w.results,
                    after=asked.after,
                    limit=asked.limit,
                )
            )
        case RecoverJobs():
            return _make_answer(
                recover_jobs(
                    ledger=w.ledger,
                    heads=w.result_heads,
                    objects=w.results,
                    reads_results=asked.reads_results,
                    after=asked.after,
                    limit=asked.limit,
                )
            )
        case _:
            raise AssertionError(asked)


def _make_answer(found: Any) -> dict[str, Any]:
    """Return the outcome as JSON."""
    value = asdict(found)
    if value.get("next") is not None:
        value["next"] = str(value["next"])
    return value


def wire(settings: RecoverySettings) -> Handler:
    clients = make_aws_clients(settings)
    return make_handler(
        RecoveryWiring(
            ledger=PostgresRecovery(partial(make_owner_dsn, settings, clients)),
            slides=S3SlideStore(clients, settings.slides_bucket),
            packages=S3SlideStore(clients, settings.models_bucket),
            results=S3Objects(clients, settings.results_bucket),
            result_heads=S3SlideStore(clients, settings.results_bucket),
        )
    )


handler = make_entry(RecoverySettings, wire)
