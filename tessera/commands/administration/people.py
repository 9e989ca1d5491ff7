"""`tessera admin people`: who belongs to a tenant, in which role."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tessera.api.administration import Item
from tessera.commands.administration.asking import ApiUrl, AsJson, OfTenant, connect, describe_time, show, show_items
from tessera.commands.options import ApiKey
from tessera.local_run.inputs import UsageError
from wsi.records.identity import Role

app = typer.Typer(
    name="people", help="People of a tenant: invite, role, disable, move, hand over.", no_args_is_help=True
)

Person = Annotated[str, typer.Argument(metavar="PERSON", help="The person's e-mail address or id.")]
NewRole = Annotated[Role, typer.Option(help="What the person may do.")]


@app.command("list")
def list_all(*, api: ApiUrl, api_key: ApiKey, tenant: OfTenant = None, as_json: AsJson = False) -> None:
    """List the people of a tenant."""
    with connect(api, api_key) as administration:
        items = administration.list_items("people", tenant=tenant)
    columns = {
        "person": lambda one: one["email"] or one["person_id"],
        "role": lambda one: one["role"],
        "since": lambda one: describe_time(one["created_at"], ""),
        "disabled": lambda one: describe_time(one["disabled_at"], ""),
    }
    show_items(items, columns, as_json=as_json)


@app.command()
def invitations(*, api: ApiUrl, api_key: ApiKey, tenant: OfTenant = None, as_json: AsJson = False) -> None:
    """List the invitations that nobody has accepted yet."""
    with connect(api, api_key) as administration:
        items = administration.list_items("invitations", tenant=tenant)
    columns = {
        "invited": lambda one: one["email"],
        "role": lambda one: one["role"],
        "until": lambda one: describe_time(one["expires_at"], ""),
        "id": lambda one: one["invitation_id"],
    }
    show_items(items, columns, as_json=as_json)


@app.command()
def invite(
    email: Annotated[str, typer.Argument(metavar="EMAIL", help="Where the mail goes.")],
    *,
    api: ApiUrl,
    api_key: ApiKey,
    role: NewRole = Role.VIEWER,
    issuer: Annotated[str | None, typer.Option(help="Of an account at another sign-in: `iss` of its tokens.")] = None,
    subject: Annotated[str | None, typer.Option(help="Of an account at another sign-in: `sub` of its tokens.")] = None,
    tenant: OfTenant = None,
    as_json: AsJson = False,
) -> None:
    """Invite a person, who belongs to the tenant from the first sign-in on. Inviting again sends another mail."""
    if (issuer is None) is not (subject is None):
        raise UsageError("--issuer and --subject name an account together; give both or neither")
    fields: dict[str, Any] = {"email": email, "role": role.value}
    if issuer is not None:
        fields["account"] = {"issuer": issuer, "subject": subject}
    with connect(api, api_key) as administration:
        invited = administration.create("invitations", fields | _name_tenant(tenant))
    until = describe_time(invited["expires_at"], "")
    sentences = [f"{invited['email']} is invited as {invited['role']} until {until}"]
    if invited["password"] is not None:
        sentences.append(f"password for the first sign-in, shown this once: {invited['password']}")
    show(invited, sentences, as_json=as_json)


@app.command()
def withdraw(
    email: Annotated[str, typer.Argument(metavar="EMAIL", help="Who was invited: e-mail address, or the id.")],
    *,
    api: ApiUrl,
    api_key: ApiKey,
    tenant: OfTenant = None,
) -> None:
    """Withdraw an invitation."""
    with connect(api, api_key) as administration:
        administration.remove(f"invitations/{administration.find_invitation(email, tenant)}")
    show({}, [f"the invitation of {email} is withdrawn"], as_json=False)


@app.command("role")
def set_role(
    person: Person,
    role: Annotated[Role, typer.Argument(metavar="ROLE", help="viewer, analyst or admin.")],
    *,
    api: ApiUrl,
    api_key: ApiKey,
    tenant: OfTenant = None,
    as_json: AsJson = False,
) -> None:
    """Give a person another role. It holds within a minute."""
    _change(person, {"role": role.value}, api=api, api_key=api_key, tenant=tenant, as_json=as_json)


@app.command()
def disable(person: Person, *, api: ApiUrl, api_key: ApiKey, tenant: OfTenant = None, as_json: AsJson = False) -> None:
    """End a person's sessions and refuse the person from now on. Slides, jobs and results stay."""
    _change(person, {"disabled": True}, api=api, api_key=api_key, tenant=tenant, as_json=as_json)


@app.command()
def enable(person: Person, *, api: ApiUrl, api_key: ApiKey, tenant: OfTenant = None, as_json: AsJson = False) -> None:
    """Let a disabled person in again."""
    _change(person, {"disabled": False}, api=api, api_key=api_key, tenant=tenant, as_json=as_json)


@app.command()
def move(
    person: Person,
    *,
    api: ApiUrl,
    api_key: ApiKey,
    to: Annotated[str, typer.Option(metavar="TENANT", help="The person's tenant from now on.")],
    role: NewRole,
    tenant: OfTenant = None,
    as_json: AsJson = False,
) -> None:
    """Move a person to another tenant, for operators. Slides and jobs stay where they are."""
    with connect(api, api_key) as administration:
        found = administration.find_person(person, tenant)
        answer = administration.create(f"people/{found}/move", {"tenant": to, "role": role.value})
    show(answer, [f"{person} is now {answer['role']} of {to}"], as_json=as_json)


@app.command()
def hand_over(
    person: Person,
    to: Annotated[str, typer.Argument(metavar="TO", help="Who takes over: e-mail address or id.")],
    *,
    api: ApiUrl,
    api_key: ApiKey,
    tenant: OfTenant = None,
    as_json: AsJson = False,
) -> None:
    """Make a person's slides and unfinished jobs another person's of the same tenant."""
    with connect(api, api_key) as administration:
        giver, taker = (administration.find_person(one, tenant) for one in (person, to))
        done = administration.create(f"people/{giver}/hand-over", {"to": taker})
    show(done, [f"{to} has taken over {done['slides']} slides and {done['jobs']} unfinished jobs"], as_json=as_json)


def _change(person: str, fields: dict[str, Any], *, api: str, api_key: str, tenant: str | None, as_json: bool) -> None:
    with connect(api, api_key) as administration:
        changed = administration.change(f"people/{administration.find_person(person, tenant)}", fields)
    show(changed, [_describe(changed)], as_json=as_json)


def _describe(person: Item) -> str:
    name = person["email"] or person["person_id"]
    return f"{name} is disabled" if person["disabled"] else f"{name} is {person['role']}"


def _name_tenant(tenant: str | None) -> dict[str, str]:
    return {"tenant": tenant} if tenant is not None else {}
