"""A model package that is being registered: uploaded, tried by a worker, then a model version or refused."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from wsi.records.fields import select_known_fields
from wsi.states import RegistrationState


@dataclass(frozen=True, kw_only=True, slots=True)
class PackageFile:
    name: str  #: one of `wsi.models.package_files`
    size: int  #: bytes
    sha256: str  #: hex, of the whole file, as its sender announced it
    uri: str
    upload_id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelMeasurements:
    """The measurements that a worker made of a model on its own device."""

    device: str  #: "NVIDIA A10G", "CPU, 2 threads"
    tiles_per_second: float  #: of the model with its copies, without reading
    load_seconds: float  #: with the check of the network and its golden tiles
    memory_bytes: int  #: most that the process held
    device_bytes: int | None = None  #: most that it held of a GPU's memory; None on a CPU
    golden: bool = False  #: the package has golden tiles, and they were reproduced
    doubts: tuple[str, ...] = ()  #: what is probably not meant, a sentence each

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(value: dict[str, Any]) -> ModelMeasurements:
        known: dict[str, Any] = {
            **select_known_fields(ModelMeasurements, value),
            "doubts": tuple(value.get("doubts", ())),
        }
        return ModelMeasurements(**known)


@dataclass(frozen=True, kw_only=True, slots=True)
class Registration:
    id: UUID  #: of these very files: another package under the same name and version has another
    tenant: UUID  #: of who asked for it
    name: str
    version: str
    state: RegistrationState = RegistrationState.UPLOADING
    files: tuple[PackageFile, ...]
    becomes_default: bool  #: when it is READY; the first version of a name does in any case
    reason: str | None = None
    sentence: str | None = None
    measured: ModelMeasurements | None = None
    created_by: str
    created_at: datetime
    updated_at: datetime

    def is_of(self, files: tuple[PackageFile, ...]) -> bool:
        """Return whether the registration is of these files, byte for byte."""
        return {(file.name, file.sha256) for file in self.files} == {(file.name, file.sha256) for file in files}


@dataclass(frozen=True, kw_only=True, slots=True)
class NewRegistration:
    id: UUID
    name: str
    version: str
    files: tuple[PackageFile, ...]
    becomes_default: bool
