"""Single sign-on with one provider of the deployer's: what `sign_on` in the context may say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from cdk import shapes

#: The roles that a group may give, those of wsi.records.identity, the lowest first.
RoleName = Literal["viewer", "analyst", "admin"]
ROLES: tuple[str, ...] = get_args(RoleName)
_WITHOUT_SECOND_FACTOR = ROLES[:2]
#: bytes: the function's environment holds 4 KB, and a bit more than this.
_MOST_BYTES = 3_000
#: What Active Directory Federation Services and Entra ID call the address in SAML.
_SAML_EMAIL = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress"


class GroupGrant(BaseModel):
    """The tenant and role that the members of one of the provider's groups get."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tenant: Annotated[str, Field(min_length=1, max_length=500)]  #: By its name, as add_tenant was given it.
    role: RoleName


class SignOn(BaseModel):
    """A provider of SAML (`metadata_url` or `metadata_file`) or of OpenID Connect (`issuer`, `client_id` and
    `client_secret_arn`), and what its groups mean here."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: shapes.ProviderName  #: On the button of the sign-in page. Never change it: people would become new people.
    metadata_url: shapes.HttpsUrl | None = None  #: Where the provider serves its SAML metadata.
    metadata_file: str | None = None  #: Or a file with it, on the machine that deploys.
    issuer: shapes.HttpsUrl | None = None  #: `iss` of the provider's tokens, below which its configuration is.
    client_id: Annotated[str, Field(min_length=1, max_length=255)] | None = None
    client_secret_arn: shapes.Secret | None = (
        None  #: Secret of Secrets Manager whose whole text is the client's secret.
    )
    #: Attribute or claim with the groups' names. Of OpenID Connect it must be in the ID token or in the user info.
    groups: Annotated[str, Field(min_length=1, max_length=255)]
    email: Annotated[str, Field(min_length=1, max_length=255)] | None = None  #: The same for the address.
    #: By the group's name, exactly as the provider states it. Who is in none of them cannot sign in.
    roles: Annotated[Mapping[shapes.GroupName, GroupGrant], Field(min_length=1)]
    #: Whether the provider demands a second factor of all whom it lets in here. Only then may a group be admins.
    demands_second_factor: bool = False

    @model_validator(mode="after")
    def _check_provider(self) -> Self:
        oidc = (self.issuer, self.client_id, self.client_secret_arn)
        saml = (self.metadata_url, self.metadata_file)
        if any(oidc) == any(saml) or (any(oidc) and not all(oidc)) or all(saml):
            raise ValueError(
                "needs metadata_url or metadata_file of a SAML provider, or issuer, client_id and client_secret_arn of"
                " an OpenID Connect provider."
            )
        if self.metadata_file is not None and not Path(self.metadata_file).is_file():
            raise ValueError(f"metadata_file is no file: {self.metadata_file}")
        if len(self.roles_as_json) > _MOST_BYTES:
            raise ValueError(f"roles must fit into {_MOST_BYTES:,} characters: name fewer groups.")
        admins = [name for name, group in self.roles.items() if group.role not in _WITHOUT_SECOND_FACTOR]
        if admins and not self.demands_second_factor:
            raise ValueError(
                f"makes {', '.join(admins)} admins, who need a second factor: make the provider demand it of everybody"
                " here, and then give demands_second_factor=true."
            )
        return self

    @property
    def is_saml(self) -> bool:
        return self.issuer is None

    @property
    def email_attribute(self) -> str:
        return self.email or (_SAML_EMAIL if self.is_saml else "email")

    @property
    def roles_as_json(self) -> str:
        """Return the groups as the trigger reads them."""
        return json.dumps({name: (group.tenant, group.role) for name, group in self.roles.items()})


def parse(value: Any) -> Any:
    """Parse a string as JSON: `-c sign_on=…` can give strings only. Raises ValueError."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError as error:
        raise ValueError("must be an object of JSON, which cdk.json holds best.") from error
