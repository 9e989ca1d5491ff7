"""Rows of SQL to records. Columns are named as the fields are; only what needs another type is listed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID

from psycopg import sql

from adapters.postgres.connections import Row
from wsi.records.administration.keys import StoredKey
from wsi.records.administration.people import Invitation, Member
from wsi.records.deliveries import Delivery, NoticeChannel
from wsi.records.fields import select_known_fields
from wsi.records.identity import Actor, Role
from wsi.records.jobs import Job, JobEvent, JobOptions, Priority
from wsi.records.models import ModelVersion
from wsi.records.notices import OutboxRow
from wsi.records.registrations import ModelMeasurements, PackageFile, Registration
from wsi.records.results import ResultFile
from wsi.records.shards import ShardOutput
from wsi.records.slides import Choice, CleanCopy, Removed, RestoreTier, Slide, SlideFile
from wsi.states import JobState, RegistrationState, SlideState

_Record = TypeVar("_Record")
#: What begins the key of a tenant's model; revision 0020 has it too.
_OWNER = re.compile("^[0-9a-f-]{36}/")

#: The columns of a slide, with its files in order.
SLIDE = sql.SQL(
    """
    slides.*, (
        SELECT json_agg(
            json_build_object(
                'name', f.name, 'uri', f.uri, 'size', f.size, 'upload_id', f.upload_id, 'etag', f.etag,
                'clean', CASE WHEN f.clean_uri IS NOT NULL
                    THEN json_build_object('uri', f.clean_uri, 'upload_id', f.clean_upload_id) END
            )
            ORDER BY f.position
        )
        FROM slide_files AS f WHERE f.slide_id = slides.id
    ) AS files
    """
)


def read_slide(row: Row) -> Slide:
    files = tuple(_slide_file(file) for file in row["files"] or ())
    tier = RestoreTier(row["restore_tier"]) if row["restore_tier"] else None
    choice = Choice.from_json(row["choice"]) if row["choice"] else None
    removed = Removed.from_json(row["removed"]) if row["removed"] else None
    converted = {"state": SlideState(row["state"]), "files": files, "restore_tier": tier, "choice": choice}
    return _record(Slide, row, **converted, removed=removed)


def _slide_file(value: dict[str, Any]) -> SlideFile:
    return _record(SlideFile, value, clean=CleanCopy(**value["clean"]) if value["clean"] else None)


def read_job(row: Row) -> Job:
    options = JobOptions.from_json(row["options"])
    converted = {"state": JobState(row["state"]), "priority": Priority(row["priority"]), "options": options}
    return _record(Job, row, **converted, model=_OWNER.sub("", row["model"]))


def read_job_event(row: Row) -> JobEvent:
    return _record(JobEvent, row)


def read_model_version(row: Row) -> ModelVersion:
    return _record(ModelVersion, row, name=row["given_name"])


def make_model_key(owner: UUID | None, name: str) -> str:
    """Return the key of a model in SQL: two owners may have models of one name."""
    return name if owner is None else f"{owner}/{name}"


def read_registration(row: Row) -> Registration:
    files = tuple(PackageFile(**select_known_fields(PackageFile, file)) for file in row["files"])
    measured = ModelMeasurements.from_json(row["measured"]) if row["measured"] else None
    return _record(Registration, row, state=RegistrationState(row["state"]), files=files, measured=measured)


def read_result_file(row: Row) -> ResultFile:
    return _record(ResultFile, row)


def read_shard_output(row: Row) -> ShardOutput:
    return _record(ShardOutput, row)


def read_delivery(row: Row) -> Delivery:
    return _record(Delivery, row, channel=NoticeChannel(row["channel"]))


def read_outbox_row(row: Row) -> OutboxRow:
    return _record(OutboxRow, row)


def read_actor(row: Row | None) -> Actor | None:
    return Actor(tenant=UUID(str(row["tenant"])), subject=row["subject"], role=Role(row["role"])) if row else None


def read_member(row: Row) -> Member:
    return _record(Member, row, role=Role(row["role"]))


def read_invitation(row: Row) -> Invitation:
    return _record(Invitation, row, role=Role(row["role"]))


def read_stored_key(row: Row) -> StoredKey:
    return _record(StoredKey, row, role=Role(row["role"]))


def _record(kind: type[_Record], row: Mapping[str, Any], **converted: Any) -> _Record:
    return kind(**{**select_known_fields(kind, row), **converted})
