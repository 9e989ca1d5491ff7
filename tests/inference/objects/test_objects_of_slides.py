"""Objects of whole slides, from pixels to files: each one once, and the same however the slide is cut."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from inference.channel import Channel, Closed
from inference.decoding.decode_tasks import MapRows, Rows
from inference.decoding.memory import allocate_private
from inference.decoding.threads import ThreadDecoders
from inference.engine import Engine
from inference.models.loaded import LoadedModel, QueueingMaps
from inference.pipeline import run_shard
from inference.shard_task import ShardTask
from inference.stages.batch import RESERVED
from inference.stages.forward import Forward
from inference.stages.values import Ended, Slot
from tests.inference.cases import open_path, whole_plan
from tests.inference.objects.drawn_discs import (
    Disc,
    FindsDiscs,
    QueuesDiscs,
    draw_discs,
    drawn_card,
    list_shapes,
    read_features,
    write_picture,
)
from wsi.errors import JobFailed, ModelFailed
from wsi.inspection.mask import SlideMask
from wsi.planning.plan import Plan
from wsi.records.model_card import ModelCard
from wsi.results.shard_result import ShardResult
from wsi.results.sink import FolderSink
from wsi.results.stitching import stitch
from wsi.slide.slide import SlideReader

WIDTH, HEIGHT = 1000, 900


def place_discs() -> list[Disc]:
    """Discs every 60 px, so that they lie on borders and corners of all kept boxes; some are rings, some pairs."""
    rng = np.random.default_rng(20_261_201)
    discs: list[Disc] = []
    for row, y in enumerate(range(14, HEIGHT - 14, 60)):
        for column, x in enumerate(range(14, WIDTH - 14, 60)):
            radius = float(rng.uniform(7, 13))
            kind = (row + column) % 5
            discs.append(Disc(x, y, radius, hole=radius / 3 if kind == 1 else 0))
            if kind == 2 and x + 40 < WIDTH:  # touching
                discs.append(Disc(x + 2 * radius - 1, y, radius))
    return discs


DISCS = place_discs()


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> SlideReader:
    folder = tmp_path_factory.mktemp("discs")
    return open_path(write_picture(folder / "discs.tiff", draw_discs(WIDTH, HEIGHT, DISCS), mpp=0.5))


def compute(plan: Plan, reader: SlideReader, model: LoadedModel | None = None) -> list[ShardResult]:
    model = model or FindsDiscs(plan.card)
    results = [run_shard(plan, index, reader, model, stop=threading.Event()) for index in range(len(plan.shard_sizes))]
    return [ShardResult.from_bytes(result.to_bytes()) for result in results]


def find_objects(
    folder: Path, reader: SlideReader, card: ModelCard, *, shard_tiles: int = 1000, plan: Plan | None = None
) -> Path:
    plan = plan or whole_plan(reader, card=card, batch=3, shard_tiles=shard_tiles)
    stitch(plan, compute(plan, reader), FolderSink(folder), run={})
    return folder


def areas_of(discs: Sequence[Disc]) -> list[float]:
    return sorted(np.pi * (disc.radius**2 - disc.hole**2) for disc in discs)


def test_every_disc_ring_and_pair_is_found_once_where_it_was_drawn(reader: SlideReader, tmp_path: Path) -> None:
    shapely = pytest.importorskip("shapely")
    found = read_features(find_objects(tmp_path, reader, drawn_card(352)) / "objects.geojson.gz")
    assert len(found) == len(DISCS)
    shapes = [shapely.geometry.shape(one["geometry"]) for one in found]
    left = {(disc.x, disc.y): disc for disc in DISCS}
    for shape in shapes:
        point = min(left, key=lambda place: (place[0] - shape.centroid.x) ** 2 + (place[1] - shape.centroid.y) ** 2)
        disc = left.pop(point)
        assert shape.is_valid
        assert abs(shape.centroid.x - disc.x) < 1
        assert abs(shape.centroid.y - disc.y) < 1
        assert shape.area == pytest.approx(np.pi * (disc.radius**2 - disc.hole**2), rel=0.12)
        assert len(shape.interiors) == bool(disc.hole)
    assert not left
    assert json.loads((tmp_path / "summary.json").read_text())["objects"]["found"] == len(DISCS)


def test_objects_are_the_same_bytes_for_any_size_and_order_of_shards(reader: SlideReader, tmp_path: Path) -> None:
    whole = find_objects(tmp_path / "whole", reader, drawn_card(352))
    cut = find_objects(tmp_path / "cut", reader, drawn_card(352), shard_tiles=2)
    plan = whole_plan(reader, card=drawn_card(352), batch=3, shard_tiles=3)
    stitch(plan, compute(plan, reader)[::-1], FolderSink(tmp_path / "turned"), run={})
    for name in ("objects.geojson.gz", "objects.parquet", "tiles.csv", "tiles.parquet"):
        assert (cut / name).read_bytes() == (whole / name).read_bytes() == (tmp_path / "turned" / name).read_bytes()


@pytest.mark.parametrize("side", [224, 256, 480, 1200])
def test_objects_are_the_same_to_the_last_vertex_for_any_tile_size(
    reader: SlideReader, tmp_path: Path, side: int
) -> None:
    one = find_objects(tmp_path / "one", reader, drawn_card(352))
    other = find_objects(tmp_path / "other", reader, drawn_card(side))
    assert list_shapes(one / "objects.geojson.gz") == list_shapes(other / "objects.geojson.gz")


def test_a_finer_slide_gives_the_same_objects_at_twice_the_coordinates(reader: SlideReader, tmp_path: Path) -> None:
    fine = open_path(write_picture(tmp_path / "fine.tiff", draw_discs(WIDTH, HEIGHT, DISCS, scale=2), mpp=0.25))
    found = {}
    for name, slide, scale in (("coarse", reader, 1), ("fine", fine, 2)):
        features = read_features(find_objects(tmp_path / name, slide, drawn_card(352)) / "objects.geojson.gz")
        found[name] = {
            json.dumps([[[x / scale, y / scale] for x, y in ring] for ring in one["geometry"]["coordinates"]])
            for one in features
        }
    assert found["coarse"] == found["fine"]


def test_an_object_larger_than_a_window_is_joined_and_counted(tmp_path: Path) -> None:
    discs = [Disc(300, 280, 200, core=195), Disc(60, 60, 10), Disc(580, 520, 10)]
    reader = open_path(write_picture(tmp_path / "large.tiff", draw_discs(640, 600, discs), mpp=0.5))
    folders = [find_objects(tmp_path / str(side), reader, drawn_card(side)) for side in (224, 256)]
    shapes = [list_shapes(folder / "objects.geojson.gz") for folder in folders]
    assert shapes[0] == shapes[1]
    assert len(shapes[0]) == len(discs)
    for folder in folders:
        assert json.loads((folder / "summary.json").read_text())["objects"]["joined"] == 1
        areas = [one["properties"]["measurements"]["Area µm^2"] for one in read_features(folder / "objects.geojson.gz")]
        assert max(areas) == pytest.approx(np.pi * 200**2 * 0.25, rel=0.01)


def test_objects_count_where_they_begin_in_tissue_and_in_the_region(reader: SlideReader, tmp_path: Path) -> None:
    plan = whole_plan(reader, card=drawn_card(352), batch=3)
    mask = np.zeros((HEIGHT, WIDTH), np.bool_)
    mask[:, : WIDTH // 2] = True
    half = replace(plan, mask=SlideMask(mask), region=(0, 0, WIDTH, 300))
    found = read_features(find_objects(tmp_path, reader, plan.card, plan=half) / "objects.geojson.gz")
    begins = [min((y, x) for x, y in one["geometry"]["coordinates"][0]) for one in found]
    assert begins
    assert all(y < 300 and x <= WIDTH / 2 + 0.5 for y, x in begins)
    expected = [disc for disc in DISCS if disc.y - disc.radius < 299 and disc.x < WIDTH / 2 - 1]
    assert abs(len(found) - len(expected)) <= 2  # those whose topmost px lies on the line


def test_a_shard_goes_on_from_its_checkpoint_with_the_objects_that_it_had(reader: SlideReader) -> None:
    plan = whole_plan(reader, card=drawn_card(352), batch=2, shard_tiles=1000)
    model, kept = FindsDiscs(plan.card), list[ShardResult]()
    whole = run_shard(plan, 0, reader, model, stop=threading.Event(), on_checkpoint=kept.append, checkpoint_seconds=0.0)
    assert len(kept) > 2
    begun = ShardResult.from_bytes(kept[1].to_bytes())
    again = run_shard(plan, 0, reader, model, resume=begun, stop=threading.Event())
    assert again.to_bytes() == whole.to_bytes()


def test_a_window_too_small_for_the_largest_object_is_refused_by_the_plan(reader: SlideReader) -> None:
    with pytest.raises(JobFailed, match="keep nothing"):
        whole_plan(reader, card=drawn_card(128))


def test_a_device_that_queues_batches_gives_the_same_bytes(reader: SlideReader) -> None:
    plan = whole_plan(reader, card=drawn_card(224), batch=2, shard_tiles=1000)
    model = QueuesDiscs(plan.card)
    assert isinstance(model, QueueingMaps)
    (found,), (expected,) = compute(plan, reader, model), compute(plan, reader)
    assert found.to_bytes() == expected.to_bytes()


def test_the_next_batch_is_queued_before_the_maps_of_the_last_are_awaited(reader: SlideReader) -> None:
    plan = whole_plan(reader, card=drawn_card(224), batch=1, shard_tiles=1000)
    model = QueuesDiscs(plan.card)
    forward = Forward(decoders := ThreadDecoders(2, allocate_private(RESERVED)), lambda slot: None)
    batches = Channel[Slot | Ended](0)
    task = ShardTask.from_plan(plan, 0, reader, model, stop=threading.Event())
    side, count = plan.grid.level_side, 4
    rows = Rows(count, side, side)
    maps = MapRows(count, 2, plan.card.input_px, rows.end)
    for row in range(count):
        batches.put(
            Slot(
                rows=rows,
                model_rows=rows,
                map_rows=maps,
                first=row,
                size=1,
                tiles=task.tiles[row : row + 1],
                owner=np.zeros(1, np.int32),
                tasks=[task],
                used=1,
                closed=True,
            )
        )
    with closing(decoders):
        outputs = forward.run(batches)
        assert [next(outputs).task for _ in range(count)] == [task] * count
        batches.close()
        with pytest.raises(Closed):
            next(outputs)
    began = [number for event, number in model.events if event == "started"]
    assert began == [0, 1, 2, 3]
    for number in range(count - 1):
        assert model.events.index(("started", number + 1)) < model.events.index(("computed", number))


def test_maps_that_are_no_numbers_end_the_shard_with_the_models_sentence(reader: SlideReader) -> None:
    plan = whole_plan(reader, card=drawn_card(224), batch=2, shard_tiles=1000)
    with pytest.raises(ModelFailed, match="not numbers"):
        compute(plan, reader, QueuesDiscs(plan.card, broken=1))


def test_no_device_writes_into_memory_once_the_stages_ended(reader: SlideReader) -> None:
    plan = whole_plan(reader, card=drawn_card(224), batch=1, shard_tiles=1000)
    model = QueuesDiscs(plan.card)
    decoders = ThreadDecoders(2, allocate_private(RESERVED))
    with closing(decoders), Engine(decoders, 16 * 1024**2) as engine:
        engine.begin(ShardTask.from_plan(plan, 0, reader, model, stop=threading.Event()))
        assert engine.wait_for_event(30) is not None
    ended = {kind: {number for event, number in model.events if event == kind} for kind in ("started", "computed")}
    assert ended["started"] == ended["computed"]
