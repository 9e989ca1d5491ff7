"""Usage: what a tenant's analyses took, by day, model or person, and its budget."""

from __future__ import annotations

import csv
import io
from datetime import date
from http import HTTPStatus
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from aws_lambda_powertools.event_handler.router import APIGatewayRouter

from lambdas.http.requests import Caller, Wiring
from lambdas.schemas.common import AnswerFormat
from lambdas.schemas.usage import UsageAnswer, UsageLineAnswer
from wsi.records.operations.usage import UsageBy
from wsi.results.csv_text import quote_cells
from wsi.spending.reading import read_usage

router = APIGatewayRouter()

JSON, CSV = "application/json", "text/csv; charset=utf-8"


@router.get(
    "/usage",
    tags=["usage"],
    summary="What analyses took, by day, model or person",
    responses={
        200: {
            "description": "The report",
            "content": {"application/json": {"model": UsageAnswer}, "text/csv": {"schema": {"type": "string"}}},
        }
    },
)
def usage(
    caller: Caller,
    wiring: Wiring,
    by: Annotated[UsageBy, Query(description="What a line stands for.")] = UsageBy.DAY,
    first: Annotated[
        date | None, Query(alias="from", description="First day in UTC; without it, the first of the last day's month.")
    ] = None,
    last: Annotated[date | None, Query(alias="to", description="Last day in UTC; without it, today.")] = None,
    mine: Annotated[bool, Query(description="Only what the caller asked for; all else is for admins.")] = False,
    form: Annotated[AnswerFormat, Query(alias="format", description="csv: a table for spreadsheets.")] = (
        AnswerFormat.JSON
    ),
) -> Response[UsageAnswer | str]:
    report = read_usage(
        caller,
        by,
        first=first,
        last=last,
        mine=mine,
        ledger=wiring.ledger,
        dollars_per_gpu_hour=wiring.dollars_per_gpu_hour,
        now=wiring.clock(),
    )
    answer = UsageAnswer.of(report)
    if form is AnswerFormat.JSON:
        return Response(status_code=HTTPStatus.OK, content_type=JSON, body=answer)
    return Response(status_code=HTTPStatus.OK, content_type=CSV, body=_write_table(answer))


def _write_table(answer: UsageAnswer) -> str:
    """Return the lines as CSV, with all columns that this kind of report has."""
    keys = {
        UsageBy.DAY: ("day",),
        UsageBy.MODEL: ("model", "model_version"),
        UsageBy.PERSON: ("person", "requester"),
    }[answer.by]
    columns = (*keys, "tiles", "worker_seconds", "dollars")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(quote_cells(_list_cells(line, columns)) for line in answer.items)
    return text.getvalue()


def _list_cells(line: UsageLineAnswer, columns: tuple[str, ...]) -> list[object]:
    cells = (getattr(line, column) for column in columns)
    return [cell.isoformat() if isinstance(cell, date) else cell for cell in cells]
