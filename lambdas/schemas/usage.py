"""Bodies of usage and budgets."""

from __future__ import annotations

from datetime import date

from pydantic import Field

from lambdas.schemas.common import Answer
from wsi.records.operations.usage import BudgetUse, UsageBy, UsageLine
from wsi.spending.reading import UsageReport


class UsageLineAnswer(Answer):
    day: date | None = Field(description="In UTC; null unless the report is by day.")
    model: str | None = Field(description="Null unless the report is by model.")
    model_version: str | None
    requester: str | None = Field(description="user:… or key:…; null unless the report is by person.")
    person: str | None = Field(
        description="The requester's e-mail address or the key's name. Null where it was never told."
    )
    tiles: int = Field(description="Of finished parts of slides, also of jobs that failed later.")
    worker_seconds: float = Field(description="Of the workers' attempts that finished them.")
    dollars: float = Field(description="What they cost at the installation's price.")

    @staticmethod
    def of(line: UsageLine, report: UsageReport) -> UsageLineAnswer:
        return UsageLineAnswer(
            day=line.day,
            model=line.model,
            model_version=line.model_version,
            requester=line.requester,
            person=report.names.get(line.requester) if line.requester is not None else None,
            tiles=line.tiles,
            worker_seconds=round(line.worker_seconds, 3),
            dollars=report.compute_dollars(line.worker_seconds),
        )


class BudgetAnswer(Answer):
    month: date = Field(description="The first day of the month in UTC.")
    dollars_a_month: float = Field(description="The budget that the operator set.")
    dollars: float = Field(description="What is used of it.")
    share: float | None = Field(description="dollars / dollars_a_month; null for a budget of 0.")
    stops: bool = Field(description="New jobs are refused once it is used.")

    @staticmethod
    def of(budget: BudgetUse, report: UsageReport) -> BudgetAnswer:
        dollars = report.compute_dollars(budget.worker_seconds)
        return BudgetAnswer(
            month=budget.month,
            dollars_a_month=budget.dollars_a_month,
            dollars=dollars,
            share=round(dollars / budget.dollars_a_month, 4) if budget.dollars_a_month else None,
            stops=budget.stops,
        )


class UsageAnswer(Answer):
    by: UsageBy
    first: date
    last: date
    items: list[UsageLineAnswer] = Field(
        description="Days by date; models and people by worker time, the most first. A line without model and "
        "requester in such a report is work from before an upgrade."
    )
    tiles: int = Field(description="Of all lines.")
    worker_seconds: float
    dollars: float
    budget: BudgetAnswer | None = Field(
        description="Of the organisation in this month. Null without one, and with `mine`."
    )

    @staticmethod
    def of(report: UsageReport) -> UsageAnswer:
        seconds = sum(line.worker_seconds for line in report.lines)
        return UsageAnswer(
            by=report.by,
            first=report.first,
            last=report.last,
            items=[UsageLineAnswer.of(line, report) for line in report.lines],
            tiles=sum(line.tiles for line in report.lines),
            worker_seconds=round(seconds, 3),
            dollars=report.compute_dollars(seconds),
            budget=BudgetAnswer.of(report.budget, report) if report.budget is not None else None,
        )
