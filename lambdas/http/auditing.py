"""Lines of the audit log for requests that show something or give it out. What changes something writes its line in the
transaction of the change. tests/lambdas/audit holds every route to one or the other."""

# Powertools types its contexts as bare dicts.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from aws_lambda_powertools.event_handler import APIGatewayRestResolver, Response
from aws_lambda_powertools.event_handler.api_gateway import Route
from aws_lambda_powertools.event_handler.middlewares import NextMiddleware

from adapters.settings.problems import BASE_PATH
from lambdas.http.rest_events import read_actor
from wsi.audit.views import RecordedViews
from wsi.ports.ledger import TenantLedger

VIEWS: Final = "views"  #: key of the resolver's context


@dataclass(frozen=True, slots=True)
class AuditedRoute:
    """`subject` is made of the path's parameters; without any, the tenant is the subject."""

    action: str
    subject: str = ""
    each_time: bool = False  #: a line for each request; otherwise one within ten minutes


AUDITED: Final[Mapping[tuple[str, str], AuditedRoute]] = {
    ("GET", "/slides"): AuditedRoute("slide.list"),
    ("GET", "/slides/<slide_id>"): AuditedRoute("slide.view", "{slide_id}"),
    ("POST", "/uploads/<slide_id>/parts"): AuditedRoute("slide.link_parts", "{slide_id}"),
    ("GET", "/jobs"): AuditedRoute("job.list"),
    ("GET", "/jobs/<job_id>"): AuditedRoute("job.view", "{job_id}"),
    ("GET", "/jobs/<job_id>/events"): AuditedRoute("job.view", "{job_id}"),
    ("GET", "/jobs/<job_id>/deliveries"): AuditedRoute("job.view_deliveries", "{job_id}"),
    ("POST", "/models/<name>/versions/<version>/parts"): AuditedRoute("model.link_parts", "{name}@{version}"),
    ("GET", "/webhooks/secret"): AuditedRoute("webhook_secret.read", each_time=True),
    ("GET", "/usage"): AuditedRoute("usage.view"),
    ("GET", "/audit"): AuditedRoute("audit.view"),
    ("GET", "/admin/people"): AuditedRoute("people.list"),
    ("GET", "/admin/invitations"): AuditedRoute("invitation.list"),
    ("GET", "/admin/keys"): AuditedRoute("key.list"),
}


def audit_route(app: APIGatewayRestResolver, next_middleware: NextMiddleware) -> Response[Any]:
    """Record a request that succeeded, before its answer is given: without a line there is no answer."""
    answer = next_middleware(app)
    route: Route = app.context["_route"]
    called: tuple[str, str] = (route.method, route.path.removeprefix(BASE_PATH))
    audited = AUDITED.get(called)
    if audited is not None and answer.status_code < 300:
        views: RecordedViews
        ledger: TenantLedger
        views, ledger = app.context[VIEWS]
        actor = read_actor(app.current_event.raw_event)
        parts: dict[str, str] = dict(app.context["_route_args"])
        subject = audited.subject.format(**parts) or str(actor.tenant)
        if audited.each_time:
            ledger.audit(actor, audited.action, subject)
        else:
            views.record(actor, audited.action, subject)
    return answer
