"""The identities behind tokens and keys."""

from __future__ import annotations

from typing import Protocol

from wsi.records.identity import Actor


class Identities(Protocol):
    """The queries of the authorizer."""

    def find_user(self, issuer: str, subject: str) -> Actor | None:
        """Return the person behind a verified token; None if unknown or disabled."""
        ...

    def find_api_key(self, prefix: str, secret_sha256: str) -> Actor | None:
        """Return the service behind a key "tsk_<prefix>_<secret>"; None if the key is unknown or revoked, or has
        another secret."""
        ...
