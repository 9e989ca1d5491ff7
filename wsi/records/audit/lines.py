"""The lines of the audit log, and which of them a list holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

#: A view is recorded once for each person and subject within this time, not once for each request.
VIEW_SECONDS: Final = 600.0
#: The sweep logs the head of a chain that has grown at most this often.
ANCHOR_SECONDS: Final = 3600.0
#: The chain of lines that belong to no tenant.
INSTALLATION: Final = UUID(int=0)


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditLine:
    """One line. It holds ids, counts and words of ours: no name of a person, a slide or a file."""

    number: int  #: in its chain, from 1
    tenant: UUID | None  #: None: of the installation
    at: datetime
    actor: str  #: "user:…", "key:…", the ARN of an operator, "owner", "system" or "nobody"
    action: str
    subject: str
    detail: Mapping[str, Any] = field(default_factory=dict[str, Any])
    hash: str  #: hex SHA-256 over the hash of the line before and this line's content


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditHead:
    """The last line of a chain at some time. Whoever keeps it notices later that lines up to it were changed or cut."""

    chain: UUID  #: the tenant, or INSTALLATION
    number: int
    hash: str


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditFilter:
    """The lines that are wanted. None: any."""

    actor: str | None = None
    action: str | None = None
    subject: str | None = None
    since: datetime | None = None
    until: datetime | None = None  #: exclusive
