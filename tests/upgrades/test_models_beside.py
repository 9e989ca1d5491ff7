"""Functions and workers of the last release add models and plan jobs on today's schema, where models have owners."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adapters.postgres.world import PostgresWorld
from tests.contracts.ledger_registrations import pinned, ready
from tests.contracts.ledger_world import new_job, ready_slide, submit
from tests.postgres import Database
from tools.release_fixtures.checkout import make_command
from wsi.errors import NotFound
from wsi.models.registration_rules import make_trial_message
from wsi.records.models import ModelVersion

WORK = Path(__file__).with_name("models_as_release.py")


@pytest.fixture
def world(database: Database) -> Iterator[PostgresWorld]:
    world = PostgresWorld(database)
    yield world
    world.close()


def test_models_that_the_last_release_adds_belong_to_who_added_them(
    world: PostgresWorld, database: Database, worktree: Path, tmp_path: Path
) -> None:
    shared = ModelVersion(name="shared", version="1", digest="5" * 64, card={}, package_uri=None)
    world.system.register_model(shared)
    mine, theirs = ready(world), ready(world, actor=world.other, digest="f")  # of one name and version
    slide = ready_slide(world)
    jobs = [submit(world, new_job(slide, **pinned(model)), reuse=False).job for model in (mine, mine)]
    given = {
        "api": database.api_dsn,
        "system": database.system_dsn,
        "tenants": [str(world.actor.tenant), str(world.other.tenant)],
        "slide": str(slide.id),
        "slide_version": slide.version,
        "job": str(jobs[0].id),
        "digest": shared.digest,
        "message": make_trial_message(world.tenants.get_registration(world.actor, "net", "1")),
    }
    (tmp_path / "given.json").write_text(json.dumps(given))
    command, environment = make_command(worktree, WORK, str(tmp_path / "given.json"))
    done = subprocess.run(command, env=environment, cwd=worktree, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)

    assert found["planned"] == mine.digest != theirs.digest
    assert found["listed"] == ["shared", "stain-density"], "no model that a tenant added today"
    assert found["added"] == [True, True], "neither learns of the other's"
    assert found["tries"] is None, "a worker leaves it to one that looks where the package is"
    assert len(found["seen"]) == 4
    assert found["submitted"] == ["QUEUED", "QUEUED", "not_found"]
    for actor in (world.actor, world.other):
        model = world.tenants.get_model(actor, "older")
        assert (model.owner, model.digest, model.is_default) == (actor.tenant, actor.tenant.hex * 2, True)
    with pytest.raises(NotFound):
        world.tenants.get_model(world.other, "older", digest=world.actor.tenant.hex * 2)
    assert world.system.begin_planning(jobs[1].id)
