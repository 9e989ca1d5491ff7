"""An operator's actions on an installation, invoked by hand and allowed by IAM alone: the database is private, and
somebody must create the first operator.

One action an invocation, `{"add_tenant": {"name": "hospital"}}`, and next to it the `proof` of who asks
(`adapters.operators`); the answer is an object, or `{"error": sentence}`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

from pydantic import ValidationError

from adapters.operators import PROOF, TokenService, read_operator
from adapters.postgres.owner.administration import Administration
from adapters.postgres.owner.connection import make_owner_dsn
from adapters.postgres.owner.seeding import OPERATORS_NAME, SeedUser
from adapters.settings.processes import AdministrationSettings, OwnerSettings
from adapters.sqs import SqsQueues
from lambdas.cold_start import Handler, make_entry
from lambdas.logs import make_logger
from lambdas.schemas.actions import describe_faults
from lambdas.schemas.administration import (
    Action,
    AddKey,
    AddOperator,
    AddSource,
    AddTenant,
    AddUser,
    ChooseDefaultModel,
    GetRetention,
    KeyName,
    ListAudit,
    ListModels,
    ListSources,
    ListTenants,
    ListUsage,
    OperatorKey,
    Person,
    RegisterBuiltin,
    RegisterModel,
    RemoveSource,
    RenameTenant,
    ResumeTenant,
    SetQuotas,
    SetRetention,
    ShareModel,
    SuspendTenant,
    TenantOrAll,
    VerifyAudit,
)
from lambdas.schemas.audit import AuditLineAnswer
from lambdas.schemas.common import Body
from lambdas.schemas.dead_letters import ListDeadLetters, RedriveDeadLetters, describe_letter
from lambdas.wiring import get_utc_now, make_aws_clients
from wsi.errors import Invalid, NotFound, TesseraError
from wsi.models.builtin import BUILTIN
from wsi.notices.outbox import wake
from wsi.ports.queues import Queues
from wsi.records.audit.lines import AuditFilter
from wsi.records.identity import Role
from wsi.records.model_card import ModelCard
from wsi.records.models import ModelVersion
from wsi.sources.source import make_source

logger = make_logger("administer")


#: Returns the ARN of whoever sent the event, by its proof and the invocation's context. Raises Forbidden.
Identify = Callable[[dict[str, Any], Any], str]


def make_handler(owner: Administration, identify: Identify | None = None) -> Handler:
    """Return the handler. Without `identify`, as in tests, the audit log names the owner for all actions."""

    def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
        try:
            action = Action.model_validate({name: value for name, value in event.items() if name != PROOF})
            if identify is None:
                answer = carry_out(action.asked, owner)
            else:
                by_operator = owner.as_operator(identify(event, context), context.aws_request_id)
                answer = carry_out(action.asked, by_operator)
        except ValidationError as error:
            return {"error": describe_faults(error)}
        except TesseraError as error:
            return {"error": error.sentence}
        log_action(action)
        return answer

    return handle


def log_action(action: Action) -> None:
    logger.info("administered", extra={"action": next(iter(action.model_fields_set))})


def carry_out(asked: Body, owner: Administration) -> dict[str, Any]:
    """Carry out an action and return its answer. Raises TesseraError."""
    match asked:
        case ListAudit():  # before TenantOrAll, of which it is one, as are the next ones
            return _list_audit(owner, asked)
        case VerifyAudit():
            return _verify_audit(owner, asked)
        case ListTenants():
            return {"tenants": [{**asdict(tenant), "id": str(tenant.id)} for tenant in owner.list_tenants()]}
        case ListUsage():
            usage = [{**asdict(one), "day": one.day.isoformat()} for one in owner.list_usage(asked.days)]
            return {"days": asked.days, "usage": usage}
        case AddTenant():
            return {"tenant": str(owner.add_tenant(asked.name))}
        case RenameTenant():
            owner.rename_tenant(asked.tenant, asked.name)
            return {"name": asked.name}
        case SuspendTenant():
            owner.suspend_tenant(asked.tenant, is_suspended=True)
            return {"suspended": True}
        case ResumeTenant():
            owner.suspend_tenant(asked.tenant, is_suspended=False)
            return {"suspended": False}
        case AddOperator():
            return {"user": str(owner.add_operator(asked.issuer, asked.subject, asked.email))}
        case OperatorKey():
            return {"key": owner.add_key(OPERATORS_NAME, asked.name, Role.OPERATOR)}
        case AddUser():
            user = SeedUser(issuer=asked.issuer, subject=asked.subject, role=Role(asked.role), email=asked.email)
            return {"user": str(owner.add_user(asked.tenant, user))}
        case Person():
            owner.disable_user(asked.issuer, asked.subject)
            return {"disabled": True}
        case AddKey():
            return {"key": owner.add_key(asked.tenant, asked.name, Role(asked.role))}
        case KeyName():
            return {"revoked": owner.revoke_key(asked.tenant, asked.name)}
        case ListSources():
            return {"sources": [asdict(source) for source in owner.list_sources(asked.tenant)]}
        case AddSource():
            source = make_source(asked.bucket, asked.prefix)
            owner.add_source(asked.tenant, source)
            return {"source": source.uri}
        case RemoveSource():
            return {"removed": owner.remove_source(asked.tenant, make_source(asked.bucket, asked.prefix))}
        case SetQuotas():
            return {"quotas": asdict(owner.set_quotas(asked.tenant, asked.changes))}
        case TenantOrAll():
            return {"quotas": asdict(owner.get_quotas(asked.tenant))}
        case SetRetention():
            return {"retention": asdict(owner.set_retention(asked.tenant, asked.changes))}
        case GetRetention():
            return {"retention": asdict(owner.get_retention(asked.tenant))}
        case ListDeadLetters():
            is_open = asked.which == "open"
            letters = owner.list_dead_letters(queue=asked.queue, only_open=is_open, limit=asked.limit)
            return {"dead_letters": [describe_letter(letter) for letter in letters]}
        case RedriveDeadLetters():
            letters = owner.redrive_dead_letters(queue=asked.queue, limit=asked.limit)
            return {"redriven": [describe_letter(letter) for letter in letters]}
        case RegisterBuiltin():
            return _register_model(owner, _builtin(asked.name), package_uri=None, is_default=True)
        case RegisterModel():
            return _register_model(
                owner,
                _card(asked.card),
                package_uri=asked.package_uri,
                is_default=asked.is_default,
                tenant=asked.tenant,
            )
        case ListModels():
            return {"models": [asdict(model) for model in owner.list_models()]}
        case ShareModel():  # before ChooseDefaultModel, of which it is one
            owner.share_model(asked.tenant, asked.name, asked.version)
            return {"model": asked.name, "version": asked.version, "tenant": None}
        case ChooseDefaultModel():
            owner.choose_default_model(asked.name, asked.version)
            return {"model": asked.name, "default": asked.version}
        case _:
            raise AssertionError(asked)


def _list_audit(owner: Administration, asked: ListAudit) -> dict[str, Any]:
    wanted = AuditFilter(
        actor=asked.actor, action=asked.action, subject=asked.subject, since=asked.since, until=asked.until
    )
    page = owner.list_audit(asked.tenant, wanted, before=asked.before, limit=asked.limit)
    items = [AuditLineAnswer.of(line, {}).model_dump(mode="json") for line in page.items]
    return {"items": items, "before": int(page.next_cursor) if page.next_cursor else None}


def _verify_audit(owner: Administration, asked: VerifyAudit) -> dict[str, Any]:
    report = owner.verify_audit(asked.tenant, {head.number: head.hash for head in asked.heads})
    head = {"number": report.head.number, "hash": report.head.hash} if report.head else None
    faults = [asdict(fault) for fault in report.faults]
    return {"lines": report.lines, "is_whole": report.is_whole, "head": head, "faults": faults}


def _register_model(
    owner: Administration, card: ModelCard, *, package_uri: str | None, is_default: bool, tenant: str | None = None
) -> dict[str, Any]:
    owner.register_model(
        ModelVersion(
            name=card.name,
            version=card.version,
            digest=card.digest,
            card=card.as_json(),
            package_uri=package_uri,
            is_default=is_default,
        ),
        tenant=tenant,
    )
    return {"model": card.name, "version": card.version, "digest": card.digest}


def _builtin(name: str) -> ModelCard:
    if name not in BUILTIN:
        raise NotFound(f"There is no built-in model of this name; there are {', '.join(BUILTIN)}.")
    return BUILTIN[name]


def _card(value: dict[str, Any]) -> ModelCard:
    try:
        return ModelCard.from_json(value)
    except (KeyError, TypeError, ValueError) as error:
        raise Invalid("The card is not one that read_package made: a field is missing or has a wrong type.") from error


def make_waking(handler: Handler, queues: Queues) -> Handler:
    """Return the handler with a wake-up of the relay after each action: whoever lost access must not go on listening
    until the relay's schedule."""

    def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
        answer = handler(event, context)
        wake(queues)
        return answer

    return handle


def make_administration(settings: OwnerSettings) -> Administration:
    return Administration(partial(make_owner_dsn, settings, make_aws_clients(settings)))


def wire(settings: AdministrationSettings) -> Handler:
    clients = make_aws_clients(settings)
    service = TokenService(region=settings.region, endpoint_url=settings.endpoint_url)

    def identify(event: dict[str, Any], context: Any) -> str:
        account = str(context.invoked_function_arn).split(":")[4]
        function = str(context.function_name)
        now = get_utc_now()
        return read_operator(event, event.get(PROOF), function=function, account=account, service=service, now=now)

    administering = make_handler(make_administration(settings), identify)
    return make_waking(administering, SqsQueues(clients, settings.queue_prefix))


handler = make_entry(AdministrationSettings, wire)
