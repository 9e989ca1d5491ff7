"""Refusals that the database itself states, each with a message for the caller."""

from __future__ import annotations

import psycopg

from wsi.errors import Conflict, Forbidden, LedgerUnavailable, RequestError

#: SQLSTATEs of our functions and triggers.
_KINDS: dict[str, type[RequestError]] = {"TS403": Forbidden, "TS409": Conflict}


def raise_refusal(error: psycopg.Error) -> None:
    """Raise Forbidden or Conflict if a function, trigger or check of ours refused, and LedgerUnavailable if the server
    is gone or let others go first; return for any other error."""
    if isinstance(error, psycopg.OperationalError):
        raise LedgerUnavailable("The database did not answer, or hung up; try again in a moment.") from error
    if isinstance(error, psycopg.errors.FeatureNotSupported):  # a plan from before a migration
        raise LedgerUnavailable("The database's schema has just changed; try again in a moment.") from error
    kind = _KINDS.get(error.diag.sqlstate or "")
    if kind is not None:
        raise kind(error.diag.message_primary or kind.code) from error
    if (error.diag.constraint_name or "").endswith("_operator_check"):
        raise Conflict("The operators' tenant has operators, and no other tenant has any.") from error
