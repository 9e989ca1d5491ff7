"""Models."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from lambdas.schemas.common import STORABLE, Answer, Body, Sha256
from wsi.digests import PART_SIZE
from wsi.models.registration_rules import NewPackageFile
from wsi.records.models import ModelVersion
from wsi.records.pages import Page
from wsi.records.registrations import ModelMeasurements, Registration
from wsi.states import RegistrationState


class ModelOwner(StrEnum):
    """The owner of a model, as its users see it."""

    TENANT = "tenant"
    INSTALLATION = "installation"

    @staticmethod
    def of(model: ModelVersion) -> ModelOwner:
        return ModelOwner.INSTALLATION if model.owner is None else ModelOwner.TENANT


class ModelAnswer(Answer):
    name: str
    version: str
    digest: str
    is_default: bool = Field(description="The version that a job takes when it names only the model.")
    owner: ModelOwner = Field(description="Your tenant, or the installation, whose models all tenants use.")
    card: dict[str, Any]

    @staticmethod
    def of(model: ModelVersion) -> ModelAnswer:
        return ModelAnswer(
            name=model.name,
            version=model.version,
            digest=model.digest,
            is_default=model.is_default,
            owner=ModelOwner.of(model),
            card=model.card,
        )


class PackageFileToSend(Body):
    name: str = Field(description="card.json, config.json, model.safetensors …: docs/reference/models.md lists them.")
    size: int = Field(gt=0, description="Bytes.")
    sha256: Sha256

    def to_request(self) -> NewPackageFile:
        return NewPackageFile(name=self.name, size=self.size, sha256=self.sha256)


class NewModelVersion(Body):
    files: list[PackageFileToSend] = Field(min_length=1, max_length=10, description="All files of the package.")
    default: bool = Field(
        default=False,
        description="Jobs that name only the model take this version, once it is READY. The first version of a name is "
        "the default in any case.",
    )


class DefaultVersion(Body):
    version: Annotated[str, Field(min_length=1, max_length=100), STORABLE]


class MeasuredAnswer(Answer):
    """The measurements of the worker that tried the model."""

    device: str
    tiles_per_second: float = Field(description="Of the model with its copies, without reading.")
    load_seconds: float = Field(description="With the check of the network and its golden tiles.")
    memory_bytes: int = Field(description="Most that the process held.")
    device_bytes: int | None = Field(description="Most that it held of a GPU's memory.")
    golden: bool = Field(description="The package has golden tiles, and they were reproduced.")
    doubts: list[str] = Field(description="What is probably not meant, a sentence each.")

    @staticmethod
    def of(measured: ModelMeasurements) -> MeasuredAnswer:
        return MeasuredAnswer.model_validate(measured.as_json())


class ModelVersionAnswer(Answer):
    name: str
    version: str
    status: RegistrationState = Field(description="Only READY versions take jobs.")
    reason: str | None = Field(default=None, description="Of a REJECTED version.")
    sentence: str | None = Field(default=None, description="Why it is REJECTED, for people.")
    is_default: bool = Field(default=False, description="The version that a job takes when it names only the model.")
    owner: ModelOwner = Field(
        default=ModelOwner.TENANT, description="Your tenant, or the installation, whose models all tenants use."
    )
    digest: str | None = Field(default=None, description="Of the package, once READY.")
    card: dict[str, Any] | None = None
    measured: MeasuredAnswer | None = None
    part_size: int = Field(default=PART_SIZE, description="Bytes of every part but a file's last.")
    files: list[str] = Field(default=[], description="Names of the files that are uploaded, numbered from 0.")

    @staticmethod
    def of(registration: Registration, model: ModelVersion | None = None) -> ModelVersionAnswer:
        measured = MeasuredAnswer.of(registration.measured) if registration.measured is not None else None
        return ModelVersionAnswer(
            name=registration.name,
            version=registration.version,
            status=registration.state,
            reason=registration.reason,
            sentence=registration.sentence,
            measured=measured,
            files=[file.name for file in registration.files],
            **_ready(model),
        )

    @staticmethod
    def of_ready(model: ModelVersion) -> ModelVersionAnswer:
        ready = RegistrationState.READY
        return ModelVersionAnswer(name=model.name, version=model.version, status=ready, **_ready(model))


def _ready(model: ModelVersion | None) -> dict[str, Any]:
    if model is None:
        return {}
    owner = ModelOwner.of(model)
    return {"is_default": model.is_default, "owner": owner, "digest": model.digest, "card": model.card}


class ModelList(Answer):
    items: list[ModelAnswer]
    next_cursor: str | None

    @staticmethod
    def of(page: Page[ModelVersion]) -> ModelList:
        return ModelList(items=[ModelAnswer.of(model) for model in page.items], next_cursor=page.next_cursor)
