"""Rules for models that are registered: names, versions and files, and decisions that all ledgers share. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from wsi.errors import Conflict, FailReason, Invalid, NotFound
from wsi.models.package_files import CARD, CONFIG, PACKAGE_FILES
from wsi.records.models import ModelVersion
from wsi.records.notices import MESSAGE_SCHEMA
from wsi.records.registrations import NewRegistration, Registration
from wsi.states import RegistrationState

#: The queue that tells workers of a package to be tried. People wait for it, and it takes a minute.
QUEUE = "shards-high"
#: Workers that began to try a package and did not say what came of it: a network that takes all of a machine's memory
#: takes the worker with it.
SILENT_TRIES = 5
SILENT = (
    FailReason.MODEL_FAILED,
    f"{SILENT_TRIES} workers that tried the model were ended before they could say why: it probably takes more memory "
    "than they have.",
)
UNTRIED = (
    FailReason.MODEL_UNAVAILABLE,
    "No worker tried the model in a day: see that workers start, then add the model again.",
)
UNFINISHED = (FailReason.MODEL_UNAVAILABLE, "The upload was not finished in time. Add the model again.")

MOST_BYTES = 32 * 1024**3  #: of a package; the largest published encoders have 8
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")


@dataclass(frozen=True, kw_only=True, slots=True)
class NewPackageFile:
    name: str
    size: int  #: bytes
    sha256: str  #: hex


def check_package(name: str, version: str, files: Sequence[NewPackageFile]) -> None:
    """Raise Invalid unless a model may have this name, version and files."""
    if not _NAME.fullmatch(name):
        raise Invalid(
            "A model's name is 1 to 100 lower-case letters, digits, '.', '_' and '-', a letter or digit first."
        )
    if not _VERSION.fullmatch(version):
        raise Invalid("A version is 1 to 100 of A-Z, a-z, 0-9, '.', '_', '+' and '-', a letter or digit first.")
    names = [file.name for file in files]
    for other in names:
        if other not in PACKAGE_FILES:
            raise Invalid(f"A model package has no such file; its files are {', '.join(sorted(PACKAGE_FILES))}.")
    if len(set(names)) < len(names):
        raise Invalid("Two files of the package have the same name.")
    if not {CARD, CONFIG} & set(names):
        raise Invalid(f"The package has neither {CARD} nor {CONFIG} (of WSInfer): `tessera models make` writes one.")
    if any(file.size < 1 for file in files) or sum(file.size for file in files) > MOST_BYTES:
        raise Invalid(f"The files of a package have at least a byte each, and at most {MOST_BYTES:,} together.")


def stays(known: Registration | None, wanted: NewRegistration) -> bool:
    """Return whether the known registration is the wanted one and so is resumed. Raises Conflict for one that is READY
    or CHECKING with another package."""
    if known is None:
        return False
    if known.state is not RegistrationState.REJECTED and known.is_of(wanted.files):
        return True
    if known.state in (RegistrationState.CHECKING, RegistrationState.READY):
        raise Conflict(
            "This version is registered with another package; versions never change, so add it as another version."
        )
    return False


def mark_default(model: ModelVersion, *, asked: bool, others: bool) -> ModelVersion:
    """Return the version as it is registered: as the default if that was requested, or if it is the first of its name.
    A newer version never becomes the default by itself."""
    return replace(model, is_default=asked or not others)


def make_unknown_registration_error() -> NotFound:
    return NotFound("There is no model with this name and version; GET /models lists those that take jobs.")


def make_version_taken_error() -> Conflict:
    return Conflict("This version of the model exists already: add yours under another name or version.")


def make_not_uploading_error(known: Registration) -> Conflict:
    if known.state is RegistrationState.REJECTED:
        return Conflict("The package was refused, or its upload given up: add the model again.")
    return Conflict("The upload is already complete.")


def make_trial_message(registration: Registration) -> dict[str, Any]:
    """Return the body of the message. Workers from before models had owners look for a "registration", whose package
    has another key: they leave this message to a newer worker."""
    return {
        "v": MESSAGE_SCHEMA,
        "package": str(registration.id),
        "model": registration.name,
        "version": registration.version,
    }
