"""Links to the shards of a job that runs."""

from __future__ import annotations

import pytest

from tests.lambdas.jobs import finish_shard, plan, submit
from wsi.models.builtin import BUILTIN
from wsi.records.models import ModelVersion


def test_partial_results_are_those_that_finished_since_the_last_look(analyst, slide, installation):
    job = submit(analyst, slide).body["job_id"]
    plan(installation, job)
    finish_shard(installation, job, 2, 30)
    first = analyst("GET", f"/jobs/{job}/partial").body
    assert [(item["shard"], item["tiles"]) for item in first["items"]] == [(2, 30)]
    assert first["output"] == "regression"
    assert first["plan_url"] == installation.objects.presign_download("plan", filename="plan.json.gz", seconds=900)
    finish_shard(installation, job, 0, 10)
    second = analyst("GET", f"/jobs/{job}/partial", query={"after": first["after"]}).body
    assert [item["shard"] for item in second["items"]] == [0]
    third = analyst("GET", f"/jobs/{job}/partial", query={"after": second["after"]}).body
    assert (third["items"], third["after"], third["plan_url"]) == ([], second["after"], None)
    assert analyst("GET", f"/jobs/{job}/partial", query={"after": "!"}).status == 422


@pytest.mark.parametrize("model", ["efficientnet-lite0", "nuclei"])
def test_shards_of_vectors_and_objects_are_not_linked_while_the_job_runs(model, analyst, slide, installation):
    card = BUILTIN[model]
    installation.ledger.register_model(
        ModelVersion(name=card.name, version=card.version, digest=card.digest, card=card.as_json(), package_uri=None)
    )
    job = submit(analyst, slide, model=model).body["job_id"]
    waiting = analyst("GET", f"/jobs/{job}/partial").body
    plan(installation, job)
    finish_shard(installation, job, 0, 10)
    running = analyst("GET", f"/jobs/{job}/partial", query={"after": waiting["after"]}).body
    assert running == waiting == {"items": [], "after": "", "plan_url": None, "output": card.output}
    assert analyst("GET", f"/jobs/{job}").body["tiles_inferred"] == 10, "progress is in the job"
    assert analyst("GET", f"/jobs/{job}/partial", query={"after": "!"}).status == 422
