"""Budgets: at which share of one its tenant's admins are told, and what they are told."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from uuid import UUID

from wsi.errors import Invalid, SourceUnavailable
from wsi.notices.notifying import CLAIM_SECONDS, compute_pause
from wsi.ports.notices import Mail
from wsi.ports.spending import SystemSpending
from wsi.records.notices import MESSAGE_SCHEMA
from wsi.records.operations.usage import BudgetNotice

logger = logging.getLogger(__name__)

#: Shares of a month's budget of which the admins are told, once each. A tenant that passes several between two sweeps
#: is told of the largest.
PERCENTS = (80, 100)
BUDGET = "budget_of"  #: field of the message to `notify`: the tenant's id


@dataclass(frozen=True, kw_only=True, slots=True)
class BudgetNotified:
    """The numbers of mails that one message led to."""

    delivered: int = 0
    failed: int = 0


def choose_percent(dollars: float, budget: float) -> int | None:
    """Return the largest share that is used and has a notice; None below the first."""
    reached = [percent for percent in PERCENTS if dollars >= budget * percent / 100]
    return max(reached, default=None)


def make_budget_message(tenant: UUID) -> dict[str, object]:
    return {"v": MESSAGE_SCHEMA, BUDGET: str(tenant)}


def notify_admins(tenant: UUID, *, ledger: SystemSpending, mail: Mail | None, page_url: str | None) -> BudgetNotified:
    """Send the tenant's notices that are due. With `mail` None this installation sends no e-mails: the page shows the
    budget all the same."""
    notices = ledger.claim_budget_notices(tenant, seconds=CLAIM_SECONDS)
    delivered = 0
    for notice in notices:
        error, is_last = _send(notice, mail, page_url)
        ledger.record_budget_notice(
            notice,
            delivered=error is None,
            error=error,
            retry_seconds=None if error is None or is_last else compute_pause(notice.attempt),
        )
        delivered += error is None
    return BudgetNotified(delivered=delivered, failed=len(notices) - delivered)


def _send(notice: BudgetNotice, mail: Mail | None, page_url: str | None) -> tuple[str | None, bool]:
    """Return what went wrong, or None; and whether another try changes nothing."""
    if mail is None:
        return "This installation sends no e-mails.", True
    used = "used" if notice.percent >= 100 else f"{notice.percent} % used"
    said = f"Your organisation's budget for {notice.month:%B %Y} is {used}."
    where = f"{page_url}/usage" if page_url else "GET /usage says by whom and for what."
    try:
        mail.send(to=notice.target, subject=said.rstrip("."), text=f"{said}\n\n{where}\n")
    except Invalid as error:
        return error.sentence, True
    except SourceUnavailable as error:
        return error.sentence, False
    return None, False
