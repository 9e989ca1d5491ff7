"""`wsi.ports.administration.Accounts` in a Cognito user pool. Cognito's mail brings the first password."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterable, Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from adapters.aws_clients import AwsClients
from wsi.errors import Invalid, SourceUnavailable, TesseraError
from wsi.records.administration.people import SignInAccount

logger = logging.getLogger(__name__)

_SILENT = "The sign-in does not answer; try again in a minute."


class CognitoAccounts:
    """Accounts by `sub`. Without `mails`, as in the embedded stack, a new account's password is returned instead."""

    def __init__(self, clients: AwsClients, pool: str, issuer: str, *, mails: bool = True) -> None:
        self._clients = clients
        self._pool = pool
        self._issuer = issuer
        self._mails = mails

    def invite(self, email: str) -> SignInAccount:
        verified = [{"Name": "email", "Value": email}, {"Name": "email_verified", "Value": "true"}]
        how: dict[str, Any] = {} if self._mails else {"MessageAction": "SUPPRESS"}
        try:
            made = self._call("admin_create_user", Username=email, UserAttributes=verified, **how)
        except ClientError as error:
            if _code(error) == "UsernameExistsException":
                return SignInAccount(issuer=self._issuer, subject=self._remind(email))
            raise _explain(error) from error
        subject = _read_subject(made["User"]["Attributes"])
        return SignInAccount(
            issuer=self._issuer, subject=subject, password=None if self._mails else self._choose(email)
        )

    def disable(self, subject: str) -> None:
        for call in ("admin_disable_user", "admin_user_global_sign_out"):
            self._change(call, subject)

    def enable(self, subject: str) -> None:
        self._change("admin_enable_user", subject)

    def _remind(self, email: str) -> str:
        """Have Cognito send its mail again, unless the account is in use or no mails are sent; return its `sub`."""
        try:
            if self._mails:
                self._call("admin_create_user", Username=email, MessageAction="RESEND")
        except ClientError as error:
            if _code(error) != "UnsupportedUserStateException":  # it has a password of its own
                raise _explain(error) from error
        try:
            found = self._call("admin_get_user", Username=email)
            if not found.get("Enabled", True):
                self._call("admin_enable_user", Username=email)
        except ClientError as error:
            raise _explain(error) from error
        return _read_subject(found["UserAttributes"])

    def _choose(self, email: str) -> str:
        """Give a new account a password of its own, and return it."""
        password = f"Aa1!{secrets.token_urlsafe(12)}"
        try:
            self._call("admin_set_user_password", Username=email, Password=password, Permanent=True)
        except ClientError as error:
            raise _explain(error) from error
        return password

    def _change(self, call: str, subject: str) -> None:
        try:
            self._call(call, Username=subject)
        except ClientError as error:
            # A person of another sign-in, or one whose account was deleted there: the ledger's word is enough.
            if _code(error) != "UserNotFoundException":
                raise _explain(error) from error

    def _call(self, call: str, **arguments: Any) -> dict[str, Any]:
        try:
            return getattr(self._clients.cognito, call)(UserPoolId=self._pool, **arguments)
        except BotoCoreError as error:
            raise SourceUnavailable(_SILENT) from error


def _read_subject(attributes: Iterable[Mapping[str, str]]) -> str:
    return next(one["Value"] for one in attributes if one["Name"] == "sub")


def _code(error: ClientError) -> str:
    return error.response.get("Error", {}).get("Code", "")


def _explain(error: ClientError) -> TesseraError:
    logger.warning("the user pool refused a call", extra={"operation": error.operation_name, "code": _code(error)})
    if _code(error) == "InvalidParameterException":
        return Invalid("The sign-in does not accept this address.")
    return SourceUnavailable(_SILENT)
