"""The loop of `tessera watch`, over a place in memory and a clock that only waiting moves."""

from __future__ import annotations

import contextlib
import itertools
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tessera.local_run.inputs.slide_input import LeftOutReason, UsageError
from tessera.local_run.outcomes import Outcome
from tessera.watching.events import EventKind
from tessera.watching.journal import FOLDER, Journal
from tessera.watching.watcher import JOBS_A_LOOK
from tests.tessera.watching.world import ONCE, Killed, World, rows
from wsi.errors import DeviceLost, RejectReason, SlideRejected, SourceUnavailable


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(out=tmp_path)


def test_slides_are_analysed_in_the_order_in_which_they_became_complete(world: World) -> None:
    world.put("b.svs")
    world.at(15, lambda: world.put("a.svs"))
    world.at(100, world.interrupt)
    watcher = world.watch()
    assert [location for location, _ in world.analysed] == ["/in/b.svs", "/in/a.svs"]
    assert rows(watcher) == {"a": "completed", "b": "completed"}


def test_growing_slide_is_analysed_once_and_whole(world: World) -> None:
    for second in range(0, 200, 7):
        world.at(second, lambda second=second: world.put("a.svs", str(second)))
    world.at(400, world.interrupt)
    world.watch()
    assert world.analysed == [("/in/a.svs", (("/in/a.svs", "196"),))]


def test_series_waits_for_its_last_file(world: World) -> None:
    for number in range(5):
        world.at(20 * number, lambda number=number: world.put("series", file=f"series/{number}.dcm"))
    world.at(300, world.interrupt)
    world.watch()
    assert [len(files) for _, files in world.analysed] == [5]


def test_slide_that_changes_after_it_was_done_is_analysed_again_under_its_name(world: World) -> None:
    world.put("a.svs")
    world.at(100, lambda: world.put("a.svs", "2"))
    world.at(200, world.interrupt)
    assert rows(world.watch()) == {"a": "completed"}
    assert [dict(files)["/in/a.svs"] for _, files in world.analysed] == ["1", "2"]
    assert world.told(EventKind.ARRIVED, EventKind.CHANGED) == ["arrived /in/a.svs", "changed /in/a.svs"]


def test_slide_that_changes_during_the_analysis_of_another_settles_before_its_turn(world: World) -> None:
    world.takes = 5
    for name in ("a.svs", "b.svs"):
        world.put(name)
    world.at(31, lambda: world.put("b.svs", "2"))
    world.at(200, world.interrupt)
    assert rows(world.watch()) == {"a": "completed", "b": "completed"}
    assert [dict(files) for _, files in world.analysed] == [{"/in/a.svs": "1"}, {"/in/b.svs": "2"}]


def test_slide_that_is_still_incomplete_is_waited_for_and_analysed_when_the_rest_came(world: World) -> None:
    world.put("a.mrxs")
    world.is_complete = lambda location: len(world.slides[location]) == 2
    world.at(200, lambda: world.put("a.mrxs", file="a/Slidedat.ini"))
    world.at(300, world.interrupt)
    assert rows(world.watch()) == {"a": "completed"}
    assert world.told(EventKind.WAITING) == ["waiting /in/a.mrxs"]
    assert len(world.analysed) == 1


def test_slide_that_stays_incomplete_is_rejected_with_the_reason_of_its_opening(world: World) -> None:
    world.put("a.svs")
    world.is_complete = lambda location: False
    world.at(599, lambda: world.at(600, lambda: None))
    world.at(700, world.interrupt)
    (outcome,) = world.watch().list_outcomes()
    assert (outcome.outcome, outcome.reason) == (Outcome.REJECTED, "truncated")
    (ended,) = (event for event in world.events if event.kind is EventKind.ENDED)
    assert ended.outcome == outcome
    assert world.analysed == []


def test_other_files_are_left_out_once_with_their_reason_and_temporary_ones_are_not_listed(world: World) -> None:
    world.others = {"/in/notes.xlsx": LeftOutReason.NOT_A_SLIDE, "/in/.b.svs.a1B2c3": LeftOutReason.HIDDEN}
    world.put("c.svs.part")
    world.at(100, world.interrupt)
    watcher = world.watch()
    assert rows(watcher) == {"notes.xlsx": "left_out"}
    assert watcher.being_written == 2
    world.at(200, world.interrupt)
    assert rows(world.watch()) == {}


def test_file_that_is_only_early_is_waited_for_before_it_is_left_out(world: World) -> None:
    world.others = {"/in/a/Data0001.dat": LeftOutReason.MISSING_FILES}
    world.at(100, world.interrupt)
    assert rows(world.watch()) == {"a/Data0001.dat": "waiting"}
    world.at(2000, world.interrupt)
    assert rows(world.watch()) == {"a/Data0001.dat": "left_out"}


def test_file_that_was_left_out_is_no_longer_listed_once_its_slide_came(world: World) -> None:
    world.others = {"/in/a-0.jpg": LeftOutReason.NOT_A_SLIDE}
    world.at(100, world.others.clear)
    world.at(100, lambda: world.put("a.vms"))
    world.at(100, lambda: world.put("a.vms", file="a-0.jpg"))
    world.at(200, world.interrupt)
    assert rows(world.watch()) == {"a": "completed"}
    assert world.told(EventKind.VANISHED) == []


def test_slide_that_vanishes_before_its_turn_is_reported(world: World) -> None:
    world.put("a.svs")
    world.at(15, lambda: world.slides.clear())
    world.at(100, world.interrupt)
    assert rows(world.watch()) == {"a.svs": "vanished"}
    assert world.told(EventKind.VANISHED) == ["vanished /in/a.svs"]


def test_bad_slides_stop_nothing(world: World) -> None:
    for name in "abc":
        world.put(f"{name}.svs")

    def run(location: str) -> None:
        if location == "/in/a.svs":
            raise ZeroDivisionError
        if location == "/in/b.svs":
            raise SlideRejected(RejectReason.NO_MPP, "State it.")

    world.run = run
    world.at(100, world.interrupt)
    assert rows(world.watch()) == {"a": "failed", "b": "rejected", "c": "completed"}
    assert "ZeroDivisionError" in (world.out / "a/error.log").read_text()


def test_place_that_cannot_be_listed_is_tried_again_less_and_less_often(world: World) -> None:
    world.put("a.svs")
    world.at(45, lambda: setattr(world, "unreachable", True))
    world.at(1000, lambda: setattr(world, "unreachable", False))
    world.at(1001, lambda: world.put("b.svs"))
    world.at(2000, world.interrupt)
    assert rows(world.watch()) == {"a": "completed", "b": "completed"}
    assert world.told(EventKind.UNREACHABLE, EventKind.REACHABLE, EventKind.VANISHED) == ["unreachable ", "reachable "]
    assert world.searches < 5 + 10 + 100  # before, meanwhile, and after


def test_place_that_cannot_be_listed_at_the_start_is_a_wrong_call(world: World) -> None:
    world.unreachable = True
    with pytest.raises(UsageError):
        world.watch()


def test_slide_whose_store_does_not_answer_is_tried_again(world: World) -> None:
    world.put("a.svs")

    def run(location: str) -> None:
        if world.now < 200:
            raise SourceUnavailable("The store did not answer.")

    world.run = run
    world.at(400, world.interrupt)
    assert rows(world.watch()) == {"a": "completed"}
    assert len(world.told(EventKind.WAITING)) == 1


def test_lost_device_ends_the_watch_and_the_next_one_tries_again(world: World) -> None:
    world.put("a.svs")

    def lost(location: str) -> None:
        raise DeviceLost("The GPU is gone.")

    world.run = lost
    with pytest.raises(DeviceLost):
        world.watch()
    world.run = lambda location: None
    assert rows(world.watch(ONCE)) == {"a": "completed"}


def test_watch_for_once_ends_when_all_has_settled(world: World) -> None:
    world.put("a.svs")
    world.at(25, lambda: world.put("b.svs"))
    world.put("cut.svs")
    world.is_complete = lambda location: "cut" not in location
    assert rows(world.watch(ONCE)) == {"a": "completed", "cut": "rejected", "b": "completed"}
    assert world.now < 80
    world.events.clear()
    assert rows(world.watch(ONCE)) == {}
    assert [event.count for event in world.events] == [3]


def test_failed_slide_is_tried_again_by_the_next_watch_and_a_rejected_one_is_not(world: World) -> None:
    world.put("a.svs")
    world.put("b.svs")

    def run(location: str) -> None:
        if location == "/in/b.svs":
            raise SlideRejected(RejectReason.NO_MPP, "State it.")
        raise ZeroDivisionError

    world.run = run
    assert rows(world.watch(ONCE)) == {"a": "failed", "b": "rejected"}
    world.run = lambda location: None
    assert rows(world.watch(ONCE)) == {"a": "completed"}


def test_other_task_analyses_all_again_under_the_same_names(world: World) -> None:
    world.put("a.svs")
    world.watch(ONCE)
    world.task = "other model"
    assert rows(world.watch(ONCE)) == {"a": "completed"}
    assert len(world.analysed) == 2


def test_slides_of_one_name_get_folders_of_their_own_for_good(world: World) -> None:
    for name in ("p/a.svs", "q/a.svs", "A.tif"):
        world.put(name)
    assert set(rows(world.watch(ONCE))) == {"A", "a.svs", "q_a.svs"}
    world.put("r/a.svs")
    world.slides.pop("/in/p/a.svs")
    assert set(rows(world.watch(ONCE))) == {"r_a.svs"}


def test_look_comes_between_two_slides_that_take_long(world: World) -> None:
    world.takes = 50
    for name in "abc":
        world.put(f"{name}.svs")
    world.at(60, lambda: world.slides.pop("/in/c.svs"))
    world.at(400, world.interrupt)
    assert rows(world.watch()) == {"a": "completed", "b": "completed", "c.svs": "vanished"}


def test_interrupted_slide_is_waiting_and_the_next_watch_resumes_it(world: World) -> None:
    world.put("a.svs")
    world.put("b.svs")
    world.takes = 50
    world.at(60, world.interrupt)
    watcher = world.watch()
    assert rows(watcher) == {"a": "waiting", "b.svs": "waiting"}
    assert "resumes it" in (watcher.list_outcomes()[0].sentence or "")
    assert rows(world.watch(ONCE)) == {"a": "completed", "b": "completed"}


def test_results_of_jobs_are_collected_also_after_a_restart_and_some_at_a_time(world: World) -> None:
    world.collects = True
    for number in range(JOBS_A_LOOK + 5):
        world.put(f"{number:02}.svs")
    world.at(60, world.interrupt)
    assert set(rows(world.watch()).values()) == {"submitted"}
    world.slides.pop("/in/03.svs")  # its job goes on
    world.ended_jobs = {f"job of {number:02}" for number in range(JOBS_A_LOOK + 5)}
    world.asked.clear()
    watcher = world.watch(ONCE)
    assert Counter(rows(watcher).values()) == {"completed": JOBS_A_LOOK + 5}
    assert set(world.asked.values()) == {1}
    assert len(world.analysed) == JOBS_A_LOOK + 5
    assert rows(world.watch(ONCE)) == {}


def test_installation_that_does_not_answer_for_jobs_is_reported_once_and_asked_again(world: World) -> None:
    world.collects = True
    world.put("a.svs")
    world.put("b.svs")
    world.at(45, lambda: setattr(world, "is_down", True))
    world.at(500, lambda: setattr(world, "is_down", False))
    world.at(500, lambda: world.ended_jobs.update({"job of a", "job of b"}))
    assert rows(world.watch(ONCE)) == {"a": "completed", "b": "completed"}
    assert len(world.told(EventKind.WAITING)) == 1


@pytest.mark.parametrize("seconds", [46, 100])
def test_job_of_a_version_that_was_replaced_does_not_finish_the_new_one(world: World, seconds: float) -> None:
    """The first job ends before the new version is submitted, or never counts."""
    world.collects = True
    world.put("a.svs")
    world.at(45, lambda: world.put("a.svs", "2"))
    world.at(seconds, lambda: world.ended_jobs.add("job of a"))
    world.at(200, world.interrupt)
    assert rows(world.watch()) == {"a": "completed"}
    assert len(world.analysed) == 2
    ends = [event.outcome.outcome for event in world.events if event.outcome is not None]
    assert ends.count(Outcome.COMPLETED) == (2 if seconds == 46 else 1)


OPERATIONS = st.lists(
    st.tuples(
        st.floats(0, 90),
        st.sampled_from(["a.svs", "b.svs", "x/a.svs"]),
        st.sampled_from(["write", "write", "write", "remove", "kill", "kill while it runs"]),
    ),
    max_size=25,
)


#: The second slide is replaced while the first is analysed: the look before saw its earlier version.
@example(operations=[(0.0, "a.svs", "write"), (0.0, "b.svs", "write"), (31.0, "b.svs", "write")])
@given(operations=OPERATIONS)
@settings(max_examples=60)
def test_whatever_happens_each_last_version_has_exactly_one_result(operations: list[tuple[float, str, str]]) -> None:
    """Files are written, removed, and the watch is killed between and within slides; then all is left to settle."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(out=Path(folder), takes=5)
        now, serial = 0.0, itertools.count()
        doomed: list[bool] = []

        def kill() -> None:
            raise Killed

        def write(name: str) -> None:
            world.put(name, str(next(serial)))

        for seconds, name, what in operations:
            now += seconds
            if what == "write":
                world.at(now, lambda name=name: write(name))
            elif what == "remove":
                world.at(now, lambda name=name: world.slides.pop(f"/in/{name}", None))
            elif what == "kill":
                world.at(now, kill)
            else:
                world.at(now, lambda: doomed.append(True))

        def run(location: str) -> None:
            if doomed:
                doomed.clear()
                raise Killed

        world.run = run
        for _ in range(100):
            try:
                world.watch(ONCE)
            except Killed:
                continue
            if not world.plan:
                break
            with contextlib.suppress(Killed):
                world.pass_time(max(0.0, world.plan[0][0] - world.now))  # nothing was there: the next thing happens
        assert not world.plan
        doomed.clear()
        world.watch(ONCE)
        last = {(location, tuple(sorted(parts.items()))) for location, parts in world.slides.items()}
        counted = Counter(world.analysed)
        assert all(counted[each] == 1 for each in last), (last, counted)
        entries = Journal(world.out / FOLDER).entries
        assert {key for key, one in entries.items() if one.outcome is Outcome.COMPLETED} >= {key for key, _ in last}
        assert len({one.name for one in entries.values()}) == len(entries)
