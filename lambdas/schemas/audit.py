"""The audit log in answers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import Field

from lambdas.schemas.common import Answer
from wsi.records.audit.lines import AuditLine
from wsi.records.pages import Page


class AuditLineAnswer(Answer):
    number: int = Field(description="In the organisation's log, from 1 and without gaps.")
    at: datetime
    actor: str = Field(description="user:…, key:…, an operator's ARN, or a part of Tessera.")
    actor_name: str | None = Field(description="A person's e-mail address or a key's name. Not part of the hash.")
    action: str
    subject: str = Field(description="The id of what it was done to.")
    detail: dict[str, Any] = Field(description="Counts and words of a fixed set; no names.")
    tenant: str | None
    hash: str = Field(description="SHA-256 over the hash of the line before and this line's content, in hex.")

    @staticmethod
    def of(line: AuditLine, names: Mapping[str, str]) -> AuditLineAnswer:
        return AuditLineAnswer(
            number=line.number,
            at=line.at,
            actor=line.actor,
            actor_name=names.get(line.actor),
            action=line.action,
            subject=line.subject,
            detail=dict(line.detail),
            tenant=str(line.tenant) if line.tenant else None,
            hash=line.hash,
        )


class AuditList(Answer):
    items: list[AuditLineAnswer]
    next_cursor: str | None

    @staticmethod
    def of(page: Page[AuditLine], names: Mapping[str, str]) -> AuditList:
        return AuditList(items=[AuditLineAnswer.of(line, names) for line in page.items], next_cursor=page.next_cursor)
