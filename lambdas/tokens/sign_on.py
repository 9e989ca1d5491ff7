"""Single sign-on: what Cognito calls before it issues a token (trigger of version 2).

Of a person whom the hospital's provider let in, the groups become a tenant and a role, in claims of both tokens that
only this function writes. Somebody else's token stays as it is: people with a password can write attributes of
themselves, the groups among them, and none of these counts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_plus

from adapters.settings.processes import SignOnSettings
from lambdas.cold_start import Handler, make_entry
from lambdas.logs import make_logger
from wsi.access import get_highest
from wsi.errors import Forbidden
from wsi.records.identity import CLAIM_EMAIL, CLAIM_ROLE, CLAIM_TENANT, Role

logger = make_logger("sign_on")

#: The pool's attribute that the provider's groups are copied to at each sign-in.
GROUPS = "custom:groups"
_FROM_A_PROVIDER = "EXTERNAL_PROVIDER"  #: status of people without a password here


def make_handler(*, provider: str, is_saml: bool, roles: Mapping[str, tuple[str, Role]]) -> Handler:
    """Return the trigger. `roles`: of each group, the tenant's name and the role."""

    def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
        attributes: Mapping[str, str] = event["request"]["userAttributes"]
        if not _is_from(provider, event["userName"], attributes):
            return event
        try:
            tenant, role = _choose(split_groups(attributes.get(GROUPS, ""), is_saml=is_saml), roles)
        except Forbidden as refusal:
            logger.info("refused", extra={"why": refusal.sentence})
            raise
        claims = {CLAIM_TENANT: tenant, CLAIM_ROLE: role.value}
        if attributes.get("email"):
            claims[CLAIM_EMAIL] = attributes["email"]
        added = {"claimsToAddOrOverride": claims}
        details = {"idTokenGeneration": added, "accessTokenGeneration": added}
        return {**event, "response": {"claimsAndScopeOverrideDetails": details}}

    return handle


def split_groups(value: str, *, is_saml: bool) -> frozenset[str]:
    """Return the groups of an attribute as Cognito writes them: one value as it is, several as [a, b]. Of SAML it
    encodes several like a form's, so that a name with a comma stays one name; of OIDC they may be JSON."""
    text = value.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return frozenset({text} if text else ())
    if not is_saml:
        try:
            return frozenset(str(one) for one in json.loads(text))
        except ValueError:
            pass  # [a, b] without quotes
    parts = frozenset(part.strip() for part in text[1:-1].split(",") if part.strip())
    return frozenset(map(unquote_plus, parts)) if is_saml else parts


def _is_from(provider: str, name: str, attributes: Mapping[str, str]) -> bool:
    """Return whether the provider let the person in. Cognito begins such a name with the provider's; other names are
    numbers that it draws itself."""
    return attributes.get("cognito:user_status") == _FROM_A_PROVIDER and name.startswith(f"{provider}_")


def _choose(groups: frozenset[str], roles: Mapping[str, tuple[str, Role]]) -> tuple[str, Role]:
    """Return the one tenant of the groups, and the highest role. Raises Forbidden. Cognito shows the sentence on the
    page."""
    given = [roles[group] for group in groups if group in roles]
    tenants = {tenant for tenant, _ in given}
    if not given:
        raise Forbidden("None of your groups gives access to Tessera; ask your administrator for one")
    if len(tenants) > 1:
        raise Forbidden("Your groups belong to several tenants of Tessera; ask your administrator to keep one")
    return tenants.pop(), get_highest(role for _, role in given)


def wire(settings: SignOnSettings) -> Handler:
    roles = {group: (tenant, Role(role)) for group, (tenant, role) in json.loads(settings.roles).items()}
    return make_handler(provider=settings.provider, is_saml=settings.is_saml, roles=roles)


handler = make_entry(SignOnSettings, wire)
