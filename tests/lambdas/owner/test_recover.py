"""What `scripts/restore.sh` asks of `recover`, and what it answers: on a real Postgres and an S3 of moto."""

from __future__ import annotations

from uuid import uuid4

import pytest
from moto import mock_aws

from adapters.aws_clients import AwsClients
from adapters.provisioning import create_buckets
from adapters.settings.processes import RecoverySettings
from lambdas.recover import wire
from local.postgres import OWNER
from tests.adapters.postgres.world import PostgresWorld
from tests.ministack import REGION
from wsi import keys
from wsi.records.slides import SlideFile


@pytest.fixture
def buckets(credentials):
    with mock_aws():
        clients = AwsClients(REGION)
        create_buckets(clients, ("kept-slides", "kept-results", "kept-models"))
        yield clients.s3


@pytest.fixture
def recover(database, buckets):
    settings = RecoverySettings(
        region=REGION,
        database_dsn=database.server.make_dsn(OWNER, database.name),
        slides_bucket="kept-slides",
        results_bucket="kept-results",
        models_bucket="kept-models",
    )
    handler = wire(settings)
    return lambda **action: handler(action, None)


def test_slides_are_found_in_the_bucket_that_took_over_page_by_page(database, buckets, recover):
    world = PostgresWorld(database)
    try:
        stored = []
        for _ in range(2):
            slide_id = uuid4()
            key = keys.of_slide_file(world.actor.tenant, slide_id, 0)
            file = SlideFile(name="a.svs", uri=f"s3://lost/{key}", size=5, upload_id="u")
            world.tenants.create_slide(world.actor, slide_id, "a", (file,), mpp=None)
            world.tenants.complete_upload(world.actor, slide_id, digest="abc-1", etags={file.uri: "old"})
            stored.append((slide_id, key))
        buckets.put_object(Bucket="kept-slides", Key=stored[0][1], Body=b"bytes")
        first = recover(recover_slides={"limit": 1})
        rest = recover(recover_slides={"limit": 1, "after": first["next"]})
        found = [*first["findings"], *rest["findings"]]
        missing = {"kind": "slide", "subject": str(stored[1][0]), "part": "0", "problem": "missing"}
        assert found == [missing]
        moved = world.tenants.get_slide(world.actor, stored[0][0]).files[0]
        assert (moved.uri, moved.etag != "old") == (f"s3://kept-slides/{stored[0][1]}", True)
        assert recover(count_records={})["slides"] == {"UPLOADED": 2}
    finally:
        world.close()


def test_an_empty_installation_has_nothing_to_recover(recover):
    assert recover(recover_models={}) == {"models": 0, "files": 0, "findings": ()}
    assert recover(recover_jobs={"reads_results": True})["next"] is None


@pytest.mark.parametrize(
    ("action", "told"),
    [
        ({}, "give exactly one action of count_records, recover_models"),
        ({"recover_slides": {"limit": 0}}, "recover_slides.limit: must"),
        ({"recover_slides": {"source": "x"}}, "recover_slides.source: is not known here"),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(recover, action, told):
    answer = recover(**action)
    assert answer.keys() == {"error"}
    assert told in answer["error"]
