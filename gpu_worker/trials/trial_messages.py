"""Reads messages that ask a worker to try a model package."""

from __future__ import annotations

from uuid import UUID

from wsi.records.notices import QueueMessage


def parse_registration(message: QueueMessage) -> UUID | None:
    """Return the registration that the message asks to try, or None if it asks for something else. Functions of the
    last release call it "registration"."""
    try:
        return UUID(message.body["package"] if "package" in message.body else message.body["registration"])
    except (AttributeError, KeyError, TypeError, ValueError):  # UUID(7) has no text to read
        return None
