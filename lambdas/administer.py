"""An operator's actions on an installation, invoked by hand and allowed by IAM alone: the database is private, and
somebody must create the first admin.

One action an invocation, `{"add_tenant": {"name": "hospital"}}`; the answer is an object, or `{"error": sentence}`.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any

from pydantic import ValidationError

from adapters.postgres.owner.administration import Administration
from adapters.postgres.owner.connection import make_owner_dsn
from adapters.postgres.owner.seeding import SeedUser
from adapters.settings.processes import OwnerSettings
from lambdas.cold_start import Handler, make_entry
from lambdas.logs import make_logger
from lambdas.schemas.actions import describe_faults
from lambdas.schemas.administration import (
    Action,
    AddKey,
    AddTenant,
    AddUser,
    ChooseDefaultModel,
    KeyName,
    ListModels,
    ListTenants,
    ListUsage,
    Person,
    RegisterBuiltin,
    RegisterModel,
    SetQuotas,
    SetRetention,
    ShareModel,
    TenantName,
    TenantOrAll,
)
from lambdas.schemas.common import Body
from lambdas.wiring import make_aws_clients
from wsi.errors import Invalid, NotFound, TesseraError
from wsi.models.builtin import BUILTIN
from wsi.records.model_card import ModelCard
from wsi.records.models import ModelVersion

logger = make_logger("administer")


def make_handler(owner: Administration) -> Handler:
    def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
        try:
            action = Action.model_validate(event)
            answer = _carry_out(action.asked, owner)
        except ValidationError as error:
            return {"error": describe_faults(error)}
        except TesseraError as error:
            return {"error": error.sentence}
        logger.info("administered", extra={"action": next(iter(action.model_fields_set))})
        return answer

    return handle


def _carry_out(asked: Body, owner: Administration) -> dict[str, Any]:
    match asked:
        case ListTenants():
            return {"tenants": [{**asdict(tenant), "id": str(tenant.id)} for tenant in owner.list_tenants()]}
        case ListUsage():
            usage = [{**asdict(one), "day": one.day.isoformat()} for one in owner.list_usage(asked.days)]
            return {"days": asked.days, "usage": usage}
        case AddTenant():
            return {"tenant": str(owner.add_tenant(asked.name))}
        case AddUser():
            user = SeedUser(issuer=asked.issuer, subject=asked.subject, role=asked.role, email=asked.email)
            return {"user": str(owner.add_user(asked.tenant, user))}
        case Person():
            owner.disable_user(asked.issuer, asked.subject)
            return {"disabled": True}
        case AddKey():
            return {"key": owner.add_key(asked.tenant, asked.name, asked.role)}
        case KeyName():
            return {"revoked": owner.revoke_key(asked.tenant, asked.name)}
        case SetQuotas():  # before TenantOrAll, of which it is one
            return {"quotas": asdict(owner.set_quotas(asked.tenant, asked.changes))}
        case TenantOrAll():
            return {"quotas": asdict(owner.get_quotas(asked.tenant))}
        case SetRetention():  # before TenantName, of which it is one
            return {"retention": asdict(owner.set_retention(asked.tenant, asked.changes))}
        case TenantName():
            return {"retention": asdict(owner.get_retention(asked.tenant))}
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


def wire(settings: OwnerSettings) -> Handler:
    return make_handler(Administration(partial(make_owner_dsn, settings, make_aws_clients(settings))))


handler = make_entry(OwnerSettings, wire)
