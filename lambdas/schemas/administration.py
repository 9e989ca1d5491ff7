"""Requests of an operator to `administer`: one action an invocation."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Field

from lambdas.schemas.actions import OneAction
from lambdas.schemas.common import STORABLE, Body, Email
from lambdas.schemas.dead_letters import ListDeadLetters, RedriveDeadLetters
from wsi.records.jobs import Priority

Name = Annotated[str, Field(min_length=1, max_length=100), STORABLE]
Limit = Annotated[int, Field(ge=0, lt=2**63)]
SmallLimit = Annotated[int, Field(ge=0, lt=2**31)]
Days = Annotated[int, Field(ge=1, le=36_500)]
Dollars = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]
TenantRole = Literal["viewer", "analyst", "admin"]
Claim = Annotated[str, Field(min_length=1, max_length=500), STORABLE]


class ListTenants(Body):
    pass


class ListUsage(Body):
    days: Annotated[int, Field(ge=1, le=366)] = 30  #: whole days before today, in UTC


class AddTenant(Body):
    name: Name


class TenantName(Body):
    tenant: Name


class SuspendTenant(TenantName):
    pass


class ResumeTenant(TenantName):
    pass


class RenameTenant(TenantName):
    name: Name


class Person(Body):
    issuer: Claim  #: `iss` of the person's tokens: output Issuer of the auth stack
    subject: Claim  #: `sub` of the person's tokens


class AddUser(Person):
    tenant: Name
    role: TenantRole
    email: Email | None = None  #: the name that others of the tenant see; stays where it is left out


class AddOperator(Person):
    """The person may administer all tenants, and belongs to none of them."""

    email: Email | None = None


class OperatorKey(Body):
    name: Name


class KeyName(Body):
    tenant: Name
    name: Name


class AddKey(KeyName):
    role: TenantRole


class TenantOrAll(Body):
    tenant: Name | None = None  #: None: what holds for all tenants without a value of their own


class ListSources(TenantName):
    pass


class SourceName(Body):
    """A part of a bucket: keys that begin with `prefix`, which ends with a slash; without it, the whole bucket."""

    tenant: Name
    bucket: Name
    prefix: Annotated[str, Field(max_length=256), STORABLE] = ""


class AddSource(SourceName):
    pass


class RemoveSource(SourceName):
    pass


class SetQuotas(TenantOrAll):
    """Quotas that are left out stay; null gives way to what holds for all, and there it means no limit."""

    tiles_a_day: Limit | None = None  #: of the jobs that are asked for on a day in UTC
    bytes_stored: Limit | None = None  #: of uploaded slides that are not deleted
    uploads_open: SmallLimit | None = None
    jobs_waiting: SmallLimit | None = None  #: that no worker has begun
    top_priority: Priority | None = None  #: the most urgent that members may ask for
    dollars_a_month: Dollars | None = None  #: of workers' time; admins are told at 80 and at 100 %
    stops_at_budget: bool | None = None  #: refuse new jobs beyond it

    @property
    def changes(self) -> dict[str, int | float | str | None]:
        """The quotas that were given, by name."""
        return {name: getattr(self, name) for name in self.model_fields_set - {"tenant"}}


class GetRetention(TenantName):
    pass


class SetRetention(TenantName):
    """Periods that are left out stay; null deletes nothing for its age. A legal hold comes before each of them."""

    slide_days: Days | None = None  #: from when a slide was created until it and its jobs are deleted
    result_days: Days | None = None  #: from when a job ended until it is deleted
    key_days: Days | None = None  #: for which an Idempotency-Key is known

    @property
    def changes(self) -> dict[str, int | None]:
        """The periods that were given, by name."""
        return {name: getattr(self, name) for name in self.model_fields_set - {"tenant"}}


class RegisterBuiltin(Body):
    name: Name


class RegisterModel(Body):
    """The registration of a package that is in the models bucket already; `card` is what `read_package` returned for
    it."""

    card: dict[str, Any]
    package_uri: Annotated[str, Field(pattern="^s3://[^/]+/.+/$"), STORABLE]
    is_default: bool = False  #: the first version of a name is the default in any case
    tenant: Name | None = None  #: whose model it is; None: the installation's, for all tenants


class ListModels(Body):
    pass


class ChooseDefaultModel(Body):
    """The choice among the installation's versions; admins choose among those of their tenant."""

    name: Name
    version: Name


class ShareModel(ChooseDefaultModel):
    """A tenant's version that becomes the installation's, for all tenants."""

    tenant: Name


class ListAudit(TenantOrAll):
    """Lines of a tenant's audit log, newest first; without a tenant, those of the installation itself."""

    actor: Claim | None = None
    action: Claim | None = None
    subject: Claim | None = None
    since: AwareDatetime | None = None
    until: AwareDatetime | None = None
    before: Annotated[int, Field(gt=0, lt=2**63)] | None = None  #: the number at the end of the last answer
    limit: Annotated[int, Field(ge=1, le=1000)] = 100


class KnownHead(Body):
    number: Annotated[int, Field(gt=0, lt=2**63)]
    hash: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class VerifyAudit(TenantOrAll):
    """The verification of a whole log against the heads that the database has and those of the sweep's log."""

    heads: tuple[KnownHead, ...] = ()


class Action(OneAction):
    """Exactly one of the actions."""

    list_tenants: ListTenants | None = None
    list_usage: ListUsage | None = None
    add_tenant: AddTenant | None = None
    rename_tenant: RenameTenant | None = None
    suspend_tenant: SuspendTenant | None = None
    resume_tenant: ResumeTenant | None = None
    add_operator: AddOperator | None = None
    add_operator_key: OperatorKey | None = None
    add_user: AddUser | None = None
    disable_user: Person | None = None
    add_key: AddKey | None = None
    revoke_key: KeyName | None = None
    list_sources: ListSources | None = None
    add_source: AddSource | None = None
    remove_source: RemoveSource | None = None
    set_quotas: SetQuotas | None = None
    get_quotas: TenantOrAll | None = None
    set_retention: SetRetention | None = None
    get_retention: GetRetention | None = None
    list_audit: ListAudit | None = None
    verify_audit: VerifyAudit | None = None
    list_dead_letters: ListDeadLetters | None = None
    redrive: RedriveDeadLetters | None = None
    register_builtin: RegisterBuiltin | None = None
    register_model: RegisterModel | None = None
    list_models: ListModels | None = None
    choose_default_model: ChooseDefaultModel | None = None
    share_model: ShareModel | None = None


class OperatorRequest(Body):
    """An action that the API passes on."""

    operator: Annotated[str, Field(pattern="^(user|key):[0-9a-f-]{36}$")]  #: who asked, as the audit log names them
    action: Action
