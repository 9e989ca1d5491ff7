"""The audit log of the caller's organisation, for its admins."""

from __future__ import annotations

from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from aws_lambda_powertools.event_handler.router import APIGatewayRouter
from pydantic import AwareDatetime

from lambdas.http.requests import Caller, Cursor, Wiring
from lambdas.schemas.audit import AuditList
from lambdas.schemas.common import STORABLE, AnswerFormat
from wsi.access import require
from wsi.audit.export import write_csv
from wsi.errors import Invalid
from wsi.records.audit.lines import AuditFilter
from wsi.records.identity import Role

router = APIGatewayRouter()

CSV = "text/csv"
NEXT_CURSOR = "Tessera-Next-Cursor"  #: header of a page in CSV, which has no other place for it


@router.get(
    "/audit",
    tags=["audit"],
    summary="The audit log, newest first",
    responses={
        200: {
            "description": "A page of the log. In CSV, the header Tessera-Next-Cursor holds the next page's cursor.",
            "content": {"application/json": {"model": AuditList}, CSV: {"schema": {"type": "string"}}},
        }
    },
)
def list_lines(
    caller: Caller,
    wiring: Wiring,
    actor: Annotated[str | None, Query(max_length=300, description="As a line has it."), STORABLE] = None,
    action: Annotated[str | None, Query(max_length=100), STORABLE] = None,
    subject: Annotated[str | None, Query(max_length=300), STORABLE] = None,
    since: Annotated[AwareDatetime | None, Query(alias="from", description="The earliest time.")] = None,
    until: Annotated[AwareDatetime | None, Query(alias="to", description="The first time after them.")] = None,
    form: Annotated[AnswerFormat, Query(alias="format")] = AnswerFormat.JSON,
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="Most items of the page.")] = 100,
) -> Response[AuditList | str]:
    require(caller, Role.ADMIN)
    if cursor is not None and not (cursor.isdecimal() and len(cursor) < 19):
        raise Invalid("The cursor is not one that this list gave; start again without it.")
    wanted = AuditFilter(actor=actor, action=action, subject=subject, since=since, until=until)
    before = int(cursor) if cursor is not None else None
    page = wiring.ledger.list_audit(caller, wanted, cursor=before, limit=limit)
    names = wiring.ledger.list_names(caller, {line.actor for line in page.items})
    if form is AnswerFormat.CSV:
        headers = {NEXT_CURSOR: page.next_cursor} if page.next_cursor else {}
        return Response(status_code=200, content_type=CSV, body=write_csv(page.items, names), headers=headers)
    return Response(status_code=200, content_type="application/json", body=AuditList.of(page, names))
