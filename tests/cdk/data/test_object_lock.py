"""S3 Object Lock: on where the setting asks for it, with the rights of those who set and read locks, and else nowhere.

`furnished` has the setting and a second region; the presets have neither."""

from __future__ import annotations

import json

import pytest

from cdk.deployment import PRESETS, Deployment
from tests.cdk.api.test_functions import SETTINGS, actions, function
from tests.cdk.policies import statements
from tests.cdk.templates import Templates

LOCKED = ("Slides", "Results")
SEEING = ("s3:GetObjectVersion", "s3:GetObjectRetention", "s3:GetObjectLegalHold")
#: Nobody else may see or set a lock, nor get round one.
HOLDING = "s3:PutObjectLegalHold"
OF_LOCKS = ("Retention", "LegalHold", "ObjectLock")


def lock_of(templates: Templates, path: str) -> object:
    return templates.by_path()[f"{path}/Resource"]["Properties"].get("ObjectLockEnabled")


def list_rights_on_locks(templates: Templates) -> dict[str, set[str]]:
    """Action on locks to the paths of the resources whose policies allow it."""
    found: dict[str, set[str]] = {}
    for statement in statements(templates):
        for action in statement.actions:
            if statement.allows and action.startswith("s3:") and any(noun in action for noun in OF_LOCKS):
                found.setdefault(action, set()).add(statement.path)
    return found


@pytest.mark.parametrize("preset", PRESETS)
def test_it_is_off_unless_it_is_asked_for(preset: str) -> None:
    assert not Deployment.from_context({"environment": preset}).object_lock
    assert Deployment.from_context({"environment": preset, "object_lock": "true"}).object_lock


def test_without_it_no_bucket_has_locks_and_nobody_a_right_on_them(templates: Templates) -> None:
    buckets = templates.resources("AWS::S3::Bucket").values()
    assert not any("ObjectLockEnabled" in bucket["Properties"] for bucket in buckets)
    assert list_rights_on_locks(templates) == {}
    assert HOLDING not in json.dumps(dict(templates.by_noun))
    for name in ("api", "sweep"):
        assert function(templates, name)["Properties"]["Environment"]["Variables"]["TESSERA_OBJECT_LOCK"] == "False"


@pytest.mark.parametrize("name", LOCKED)
@pytest.mark.parametrize("region", ["data", "recovery"])
def test_slides_and_results_can_be_locked_and_their_replicas_too(furnished: Templates, region: str, name: str) -> None:
    """S3 copies nothing from a bucket with Object Lock into one without."""
    assert lock_of(furnished, f"{region}/{name}") is True


@pytest.mark.parametrize("path", ["data/Models", "recovery/Models", "data/AccessLogs", "data/Audit/Bucket"])
def test_no_other_bucket_has_locks(furnished: Templates, path: str) -> None:
    assert lock_of(furnished, path) is None


@pytest.mark.parametrize("name", LOCKED)
def test_no_default_retention_is_set(furnished: Templates, name: str) -> None:
    """It is the owner's choice: with it, de-identification could not delete what it came from."""
    assert "ObjectLockConfiguration" not in furnished.by_path()[f"data/{name}/Resource"]["Properties"]


@pytest.mark.parametrize("name", ["api", "sweep"])
def test_who_deletes_sees_the_locks_of_all_versions(furnished: Templates, name: str) -> None:
    """S3 leaves a lock that the caller may not see out of an object's head, and says nothing of it."""
    done = actions(furnished, name)
    for action in SEEING:
        assert sorted(bucket for bucket in LOCKED for one in done[action] if bucket in str(one)) == sorted(LOCKED)
        assert len(done[action]) == 2
    assert "s3:ListBucketVersions" in done
    assert function(furnished, name)["Properties"]["Environment"]["Variables"]["TESSERA_OBJECT_LOCK"] == "True"


def test_the_api_alone_places_holds_on_files_of_slides_and_on_results_of_jobs(furnished: Templates) -> None:
    holders = [name for name in SETTINGS if HOLDING in actions(furnished, name)]
    assert holders == ["api"]
    files, results = sorted(map(str, actions(furnished, "api")[HOLDING]), key=lambda one: "Results" in one)
    assert "Slides" in files
    assert "/*/slides/*" in files
    assert "Results" in results
    assert "/*/jobs/*" in results


def test_nobody_else_has_a_right_on_locks_and_nobody_one_to_get_round_them(furnished: Templates) -> None:
    rights = list_rights_on_locks(furnished)
    assert rights.keys() == {"s3:GetObjectRetention", "s3:GetObjectLegalHold", HOLDING}
    deleting = {f"api/Functions/{name}Role/DefaultPolicy/Resource" for name in ("api", "sweep")}
    gateway = "network/S3/Resource"
    copying = "data/Objects/Replication/Role/DefaultPolicy/Resource"
    for action in ("s3:GetObjectRetention", "s3:GetObjectLegalHold"):
        assert rights[action] == {*deleting, gateway, copying}
    assert rights[HOLDING] == {"api/Functions/apiRole/DefaultPolicy/Resource", gateway}


def test_the_sweep_reads_no_byte_of_what_it_looks_at(furnished: Templates) -> None:
    assert not any(action.startswith("kms:") for action in actions(furnished, "sweep"))
