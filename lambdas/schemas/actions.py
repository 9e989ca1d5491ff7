"""Requests of operators to functions that IAM alone guards: one action an invocation."""

from __future__ import annotations

from typing import Self

from pydantic import ValidationError, model_validator

from lambdas.schemas.common import Body
from wsi.plain_faults import describe_fault


class OneAction(Body):
    """Exactly one of the fields, each of which is an action that may be left out."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if len(self._list_given()) != 1:
            raise ValueError(f"give exactly one action of {', '.join(type(self).model_fields)}")
        return self

    @property
    def asked(self) -> Body:
        return self._list_given()[0]

    def _list_given(self) -> list[Body]:
        return [value for name in type(self).model_fields if (value := getattr(self, name)) is not None]


def describe_faults(error: ValidationError) -> str:
    """Return a message that names each field that is wrong."""
    wrong = [
        f"{'.'.join(map(str, found['loc'])) or 'the payload'}: {describe_fault(found)}" for found in error.errors()
    ]
    return "; ".join(wrong) + "."
