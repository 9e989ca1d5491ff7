"""The viewer's routes over REST events, on slides that inspection has examined."""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from uuid import uuid4

import numpy as np
import pytest
from PIL import Image

from lambdas.tiles import TilesWiring, make_handler
from tests.installation import ADMIN, ANALYST, INSPECTION, STRANGER, VIEWER, Installation
from tests.lambdas.rest import BASE, rest_event
from tests.shared_slides import shared_slide
from tests.slides import write_svs
from tests.wsi.inspection.test_inspecting import inspect, take_in
from tests.wsi.slide.sources import oracle_level
from wsi import keys
from wsi.errors import RejectReason
from wsi.slides.erasing import delete_slide
from wsi.states import SlideState
from wsi.viewer.kept_views import CHECKED_SECONDS, KEPT, KeptViews

ROOT = Path(__file__).parents[2]


class Counted:
    """A ledger that counts how often a slide is asked for."""

    def __init__(self, ledger):
        self._ledger = ledger
        self.asked = 0
        self.recorded = []

    def get_slide(self, actor, slide_id):
        self.asked += 1
        return self._ledger.get_slide(actor, slide_id)

    def audit_view(self, actor, action, subject):
        self.recorded.append((actor.subject, action))
        return self._ledger.audit_view(actor, action, subject)


class Viewer:
    """One person with a viewer."""

    def __init__(self, handler, actor):
        self._handler = handler
        self._actor = actor

    def get(self, path, *, method="GET", **query):
        """(status, body, headers): a picture as bytes, anything else as what its JSON says."""
        event = rest_event(
            method, path if path.startswith(BASE) else BASE + path, query=query or None, actor=self._actor
        )
        answer = self._handler(event, None)
        headers = {name.lower(): values[0] for name, values in answer["multiValueHeaders"].items()}
        picture = headers["content-type"] == "image/jpeg"
        assert answer["isBase64Encoded"] == picture
        body = base64.b64decode(answer["body"]) if picture else json.loads(answer["body"])
        return SimpleNamespace(status=answer["statusCode"], body=body, headers=headers)

    def pyramid(self, slide_id):
        return self.get(f"/slides/{slide_id}/pyramid").body

    def tile(self, pyramid, level, x, y):
        address = pyramid["tile_url"].replace("{level}", str(level)).replace("{x}", str(x)).replace("{y}", str(y))
        path, _, etag = address.partition("?v=")
        return self.get(path, v=etag)


@pytest.fixture
def installation():
    return Installation()


@pytest.fixture
def wiring(installation):
    return TilesWiring(ledger=Counted(installation.ledger), slides=installation.slides, objects=installation.objects)


@pytest.fixture
def viewer(wiring):
    return Viewer(make_handler(wiring), VIEWER)


@pytest.fixture
def examined(installation, tmp_path):
    def take(path, **how):
        slide_id = take_in(installation, path, **how)
        assert inspect(installation, slide_id, tmp_path) is SlideState.READY
        return slide_id

    return take


@pytest.fixture
def pyramid_slide(examined):
    return examined(shared_slide("derived/cmu-small-region.pyramid-jpeg-ycbcr.tif"))


@pytest.fixture
def written(examined, tmp_path):
    return examined(write_svs(tmp_path / "a.svs", width=960, height=720, levels=(1, 4)))


def pixels(jpeg):
    return np.asarray(Image.open(io.BytesIO(jpeg)).convert("RGB"))


def test_a_viewer_learns_what_there_is_to_ask_for(viewer, pyramid_slide):
    reply = viewer.get(f"/slides/{pyramid_slide}/pyramid")
    assert reply.status == 200
    assert reply.headers["cache-control"] == "private, no-cache"
    said = reply.body
    finest = said["levels"][-1]
    assert (said["width"], said["height"]) == (finest["width"], finest["height"]) == (2220, 2967)
    assert said["mpp_x"] == pytest.approx(0.499)
    assert (finest["downsample"], finest["source"]) == (1.0, "file")
    assert [level["source"] for level in said["levels"]].count("file") >= 2
    assert said["levels"][0]["columns"] * said["levels"][0]["rows"] == 1
    assert said["tile_url"].startswith(f"{BASE}/slides/{pyramid_slide}/tiles/{{level}}/{{x}}_{{y}}.jpeg?v=")
    assert said["note"] is None


def test_a_tile_is_the_files_own_and_may_be_kept_for_ever(viewer, pyramid_slide):
    said = viewer.pyramid(pyramid_slide)
    finest = len(said["levels"]) - 1
    reply = viewer.tile(said, finest, 1, 2)
    assert reply.status == 200
    assert reply.headers["cache-control"] == "private, max-age=31536000, immutable"
    assert "tessera-unreadable" not in reply.headers
    side = said["levels"][finest]["tile_width"]
    expected = oracle_level(shared_slide("derived/cmu-small-region.pyramid-jpeg-ycbcr.tif"), 0)
    np.testing.assert_array_equal(pixels(reply.body), expected[2 * side : 3 * side, side : 2 * side])


def test_every_tile_that_the_pyramid_names_is_there_in_the_size_that_it_says(viewer, written):
    said = viewer.pyramid(written)
    for number, level in enumerate(said["levels"]):
        for y in range(level["rows"]):
            for x in range(level["columns"]):
                seen = pixels(viewer.tile(said, number, x, y).body)
                left, top = x * level["tile_width"], y * level["tile_height"]
                assert seen.shape == (
                    min(level["tile_height"], level["height"] - top),
                    min(level["tile_width"], level["width"] - left),
                    3,
                )


@pytest.mark.parametrize("actor", [VIEWER, ANALYST, ADMIN], ids=lambda actor: actor.role.value)
def test_every_role_may_look(wiring, written, actor):
    assert Viewer(make_handler(wiring), actor).get(f"/slides/{written}/pyramid").status == 200


def test_another_tenant_sees_nothing_even_while_the_slide_is_open(wiring, written):
    handler = make_handler(wiring)
    mine, theirs = Viewer(handler, VIEWER), Viewer(handler, STRANGER)
    said = mine.pyramid(written)
    assert mine.tile(said, 0, 0, 0).status == 200
    for reply in (
        theirs.get(f"/slides/{written}/pyramid"),
        theirs.get(f"/slides/{written}/thumbnail"),
        theirs.tile(said, 0, 0, 0),
    ):
        assert (reply.status, reply.body["type"]) == (404, "/problems/not_found")
    unknown = theirs.get(f"/slides/{uuid4()}/pyramid")
    assert theirs.get(f"/slides/{written}/pyramid").body["detail"] == unknown.body["detail"]


def test_nobody_gets_in_without_the_authorizers_word(wiring, written):
    nobody = Viewer(make_handler(wiring), None)
    for path in (f"/slides/{written}/pyramid", f"/slides/{written}/thumbnail", f"/slides/{written}/tiles/0/0_0.jpeg"):
        reply = nobody.get(path, v="0")
        assert (reply.status, reply.body["type"]) == (401, "/problems/unauthenticated")


def test_sql_is_asked_once_a_slide(wiring, viewer, written):
    said = viewer.pyramid(written)
    for _ in range(5):
        viewer.tile(said, 0, 0, 0)
    assert wiring.ledger.asked == 1
    assert wiring.ledger.recorded == [("user:viewer", "slide.view_image")]


def test_who_looks_at_tiles_that_another_opened_is_recorded(installation, wiring, viewer, written):
    said = viewer.pyramid(written)
    handler = make_handler(wiring)
    for actor in (VIEWER, ANALYST, ANALYST):
        Viewer(handler, actor).tile(said, 0, 0, 0)
    books = installation.ledger.books.audit
    views = [line.actor.subject for line in books if line.action == "slide.view_image"]
    assert views == ["user:viewer", "user:analyst"]


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/tiles/0/0_0.jpeg", 422, "invalid"),
        ("/tiles/0/0_0.png", 404, "no_such_route"),
        ("/tiles/0/-1_0.jpeg", 404, "no_such_route"),
        ("/tiles/0/0_9999999999999.jpeg", 404, "no_such_route"),
        ("/label", 404, "no_such_route"),
        ("/tiles/macro/0_0.jpeg", 404, "no_such_route"),
    ],
)
def test_an_address_that_is_none_is_a_problem(viewer, written, path, status, code):
    reply = viewer.get(f"/slides/{written}{path}")
    assert (reply.status, reply.body["type"]) == (status, f"/problems/{code}")
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.headers["cache-control"] == "no-store"
    assert reply.body["traceparent"].startswith("00-")


def test_an_id_that_is_none_is_a_problem(viewer):
    assert viewer.get("/slides/none/pyramid").status == 422


def test_tiles_are_only_got(viewer, written):
    assert viewer.get(f"/slides/{written}/pyramid", method="POST").body["type"] == "/problems/no_such_route"


@pytest.mark.parametrize(("level", "x", "y"), [(99, 0, 0), (0, 1, 0), (0, 0, 1)])
def test_a_tile_beyond_the_pyramid_is_not_found(viewer, written, level, x, y):
    reply = viewer.tile(viewer.pyramid(written), level, x, y)
    assert (reply.status, reply.body["type"]) == (404, "/problems/not_found")


def test_an_address_of_another_version_says_that_the_pyramid_is_to_be_loaded_again(viewer, written):
    said = viewer.pyramid(written)
    reply = viewer.tile({**said, "tile_url": said["tile_url"] + "0"}, 0, 0, 0)
    assert (reply.status, reply.body["type"]) == (409, "/problems/source_changed")
    assert "load its pyramid again" in reply.body["detail"]


def test_a_damaged_tile_is_hatched_and_said(viewer, examined):
    said = viewer.pyramid(examined(shared_slide("derived/cmu-small-region.two-tiles-damaged.svs")))
    finest = said["levels"][-1]
    number = len(said["levels"]) - 1
    marked = [
        reply
        for y in range(finest["rows"])
        for x in range(finest["columns"])
        if "tessera-unreadable" in (reply := viewer.tile(said, number, x, y)).headers
    ]
    assert [reply.headers["tessera-unreadable"] for reply in marked] == ["1", "1"]
    for reply in marked:
        assert pixels(reply.body)[..., 2].mean() < 170
    assert any("cannot be decoded" in warning for warning in said["warnings"])


def test_a_slide_that_only_openslide_reads_shows_its_overview_and_says_so(viewer, installation):
    inspection = replace(INSPECTION, format="mrxs", reading_path="scratch")
    slide = installation.uploaded(5)
    overview = np.full((1000, 2000, 3), 200, np.uint8)
    picture = io.BytesIO()
    Image.fromarray(overview).save(picture, "JPEG")
    installation.objects.put("thumbnail.jpeg", picture.getvalue())
    assert installation.ledger.accept_slide(slide.id, inspection.as_json(), "thumbnail.jpeg", version=slide.version)
    said = viewer.pyramid(slide.id)
    assert {level["source"] for level in said["levels"]} == {"overview"}
    assert [level["width"] for level in said["levels"]] == [500, 1000, 2000]
    assert "Only an overview" in said["note"]
    assert pixels(viewer.tile(said, 2, 3, 1).body).shape == (488, 464, 3)
    assert pixels(viewer.get(f"/slides/{slide.id}/thumbnail").body).shape == (250, 500, 3)


def test_a_thumbnail_is_small_and_may_be_kept_for_a_day_under_its_slides_version(viewer, pyramid_slide):
    reply = viewer.get(f"/slides/{pyramid_slide}/thumbnail")
    assert (reply.status, reply.headers["cache-control"]) == (200, "private, no-cache")
    reply = viewer.get(f"/slides/{pyramid_slide}/thumbnail", v="3")
    assert (reply.status, reply.headers["cache-control"]) == (200, "private, max-age=86400")
    assert max(pixels(reply.body).shape) <= 512
    assert len(reply.body) < 100_000


def test_no_cache_shows_what_it_kept_for_one_credential_to_another(viewer, pyramid_slide):
    said = viewer.pyramid(pyramid_slide)
    thumbnail = f"/slides/{pyramid_slide}/thumbnail"
    for reply in (viewer.tile(said, 0, 0, 0), viewer.get(thumbnail), viewer.get(thumbnail, v="3")):
        assert (reply.status, reply.headers["vary"]) == (200, "Authorization")


def test_a_slide_that_was_not_inspected_yet_or_was_archived_says_what_to_do(viewer, installation, written):
    uploaded = installation.uploaded(5)
    early = viewer.get(f"/slides/{uploaded.id}/pyramid")
    assert (early.status, early.body["type"]) == (409, "/problems/conflict")
    assert "UPLOADED" in early.body["detail"]
    assert viewer.get(f"/slides/{uploaded.id}/thumbnail").status == 404
    installation.ledger.archive_slide(ANALYST, written)
    archived = viewer.get(f"/slides/{written}/pyramid")
    assert (archived.status, "restore it" in archived.body["detail"]) == (409, True)
    assert viewer.get(f"/slides/{written}/thumbnail").status == 200


def test_a_rejected_slide_says_why_and_promises_nothing(viewer, installation):
    taken = installation.uploaded(5)
    assert installation.ledger.reject_slide(taken.id, RejectReason.BIT_DEPTH, "The pixels have 16 bits.")
    reply = viewer.get(f"/slides/{taken.id}/pyramid")
    assert (reply.status, reply.body["detail"]) == (409, "The slide cannot be shown: The pixels have 16 bits.")


def test_a_deleted_slide_is_not_found(viewer, installation, written):
    at = {"ledger": installation.ledger, "slides": installation.slides, "objects": installation.objects}
    delete_slide(ANALYST, written, **at, locks=None)
    for path in ("pyramid", "thumbnail"):
        assert viewer.get(f"/slides/{written}/{path}").status == 404


def test_without_the_index_that_inspection_kept_the_file_is_asked(viewer, installation, written):
    slide = installation.ledger.get_slide(VIEWER, written)
    kept = viewer.pyramid(written)
    folder = keys.find_inspection_folder(slide.thumbnail_key)
    assert installation.objects.delete_below(keys.of_slide_index(folder)) == 1
    wiring = TilesWiring(ledger=installation.ledger, slides=installation.slides, objects=installation.objects)
    again = Viewer(make_handler(wiring), VIEWER)
    assert again.pyramid(written) == kept
    assert again.tile(kept, 0, 0, 0).body == viewer.tile(kept, 0, 0, 0).body


def test_a_file_that_was_replaced_gives_no_mixture(viewer, installation, written):
    said = viewer.pyramid(written)
    slide = installation.ledger.get_slide(VIEWER, written)
    installation.slides.put_object(slide.files[0].uri, b"other bytes" * 100_000)
    reply = viewer.tile(said, 0, 0, 0)
    assert (reply.status, reply.body["type"]) == (409, "/problems/source_changed")


def test_a_page_of_another_origin_reads_answers_when_the_deployment_names_it(wiring, written):
    handler = make_handler(replace(wiring, page_origins=frozenset({"https://wsi.example.org"})))
    event = rest_event(
        "GET", f"{BASE}/slides/{written}/pyramid", actor=VIEWER, headers={"Origin": "https://wsi.example.org"}
    )
    headers = handler(event, None)["multiValueHeaders"]
    assert headers["Access-Control-Allow-Origin"] == ["https://wsi.example.org"]
    assert headers["Vary"] == ["Authorization", "Origin"]


def test_what_sql_said_holds_for_some_minutes_and_the_index_longer(installation, written):
    now = 0.0
    ledger = Counted(installation.ledger)
    views = KeptViews(ledger=ledger, slides=installation.slides, objects=installation.objects, clock=lambda: now)
    first = views.view(VIEWER, written, etag=None)
    now = CHECKED_SECONDS - 1
    assert views.view(VIEWER, written, etag=first.etag) is first
    now = CHECKED_SECONDS
    assert views.view(VIEWER, written, etag=first.etag) is first
    assert ledger.asked == 2


def test_a_process_keeps_a_few_slides_open(installation, examined, tmp_path):
    ledger = Counted(installation.ledger)
    views = KeptViews(ledger=ledger, slides=installation.slides, objects=installation.objects)
    slides = [examined(write_svs(tmp_path / f"{n}.svs", width=480, height=480, seed=n)) for n in range(KEPT + 1)]
    for slide in slides:
        view = views.view(VIEWER, slide, etag=None)
    assert views.view(VIEWER, slides[-1], etag=view.etag) is view
    assert ledger.asked == KEPT + 1
    views.view(VIEWER, slides[0], etag="of the first")
    assert ledger.asked == KEPT + 2


def test_the_handler_loads_what_tiles_need_and_no_more():
    heavy = {"torch", "sqlalchemy", "alembic", "openslide", "tifffile", "pydicom", "scipy"}
    heavy |= {"aws_lambda_powertools.event_handler"}
    code = f"import sys, lambdas.tiles; print(sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
