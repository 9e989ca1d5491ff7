"""Settings in the environment: a frozen class, one variable a field, written and read in this one place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

PREFIX = "TESSERA_"
Self = TypeVar("Self", bound="Environment")


class Environment(BaseModel):
    """A process's settings. Values are plain strings and numbers: CDK fills them with tokens."""

    # Without the input: an error about one field would print all of them, and a DSN holds a password.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    def make_environ(self) -> dict[str, str]:
        """Return the variables to give to the process. A field that is None is left out."""
        values = self.model_dump(mode="json")
        return {PREFIX + name.upper(): str(value) for name, value in values.items() if value is not None}

    @classmethod
    def from_environ(cls: type[Self], environ: Mapping[str, str]) -> Self:
        """Read the settings. Raises pydantic.ValidationError, naming every missing or malformed variable's field."""
        names = {PREFIX + name.upper(): name for name in cls.model_fields}
        return cls.model_validate({names[key]: value for key, value in environ.items() if key in names})
