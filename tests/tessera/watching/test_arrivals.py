"""Which slides of a watched place are complete."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tessera.watching.arrivals import (
    Arrival,
    FileVersion,
    Patience,
    Sighting,
    find_due,
    hash_version,
    list_unfinished,
    look,
    mark_ended,
    put_off,
)

PATIENCE = Patience(settle=30, give_up=3600)


def never(key: str, version: str) -> bool:
    return False


def file(name: str, size: int = 1, stamp: str = "1") -> FileVersion:
    return FileVersion(name=name, size=size, stamp=stamp)


def test_version_changes_with_size_stamp_and_number_of_files_and_not_with_their_order() -> None:
    two = hash_version([file("a"), file("b")])
    assert two == hash_version([file("b"), file("a")])
    others = [[file("a")], [file("a"), file("b", size=2)], [file("a"), file("b", stamp="2")], [file("a"), file("c")]]
    assert len({two, *map(hash_version, others)}) == 5


def test_slide_is_due_once_it_settled_and_starts_over_when_it_changes() -> None:
    first = look({}, {"a": Sighting(version="1")}, 0, PATIENCE, never)
    assert first.came == ("a",)
    assert find_due(first.arrivals, 29.9) is None
    assert find_due(first.arrivals, 30) == "a"
    second = look(first.arrivals, {"a": Sighting(version="2")}, 29, PATIENCE, never)
    assert (second.came, second.changed) == ((), ())
    assert find_due(second.arrivals, 58) is None
    assert find_due(second.arrivals, 59) == "a"


def test_slide_that_grows_on_after_it_was_found_incomplete_is_reported_once() -> None:
    first = look({}, {"a": Sighting(version="1")}, 0, PATIENCE, never).arrivals
    waiting = put_off(first["a"], "its end is missing", 30, PATIENCE)
    assert waiting is not None
    second = look({"a": waiting}, {"a": Sighting(version="2")}, 40, PATIENCE, never)
    assert second.changed == ("a",)
    assert look(second.arrivals, {"a": Sighting(version="3")}, 50, PATIENCE, never).changed == ()


def test_object_that_appears_whole_is_due_at_once() -> None:
    assert find_due(look({}, {"a": Sighting(version="1", appears_whole=True)}, 5, PATIENCE, never).arrivals, 5) == "a"


def test_finished_slide_is_due_again_only_in_another_version() -> None:
    first = look({}, {"a": Sighting(version="1")}, 0, PATIENCE, never)
    done = {"a": mark_ended(first.arrivals["a"])}
    assert find_due(look(done, {"a": Sighting(version="1")}, 999, PATIENCE, never).arrivals, 9999) is None
    changed = look(done, {"a": Sighting(version="2")}, 999, PATIENCE, never)
    assert changed.changed == ("a",)
    assert find_due(changed.arrivals, 1029) == "a"


def test_slide_that_an_earlier_watch_finished_neither_comes_nor_is_due() -> None:
    found = look({}, {"a": Sighting(version="1")}, 0, PATIENCE, lambda key, version: (key, version) == ("a", "1"))
    assert (found.came, list_unfinished(found.arrivals)) == ((), ())
    assert look(found.arrivals, {"a": Sighting(version="2")}, 1, PATIENCE, never).changed == ("a",)


def test_slide_that_vanishes_is_reported_unless_it_was_finished() -> None:
    first = look({}, {"a": Sighting(version="1"), "b": Sighting(version="1")}, 0, PATIENCE, never)
    known = {**first.arrivals, "b": mark_ended(first.arrivals["b"])}
    assert look(known, {}, 1, PATIENCE, never).gone == ("a",)


def test_incomplete_slide_is_tried_about_seven_times_in_an_hour_and_given_up() -> None:
    arrival: Arrival | None = Arrival(version="1", since=0, due=30)
    tries: list[float] = []
    while arrival is not None:
        tries.append(arrival.due)
        arrival = put_off(arrival, "its end is missing", arrival.due, PATIENCE)
    assert tries == [30, 60, 120, 240, 480, 960, 1920, 3600]


def test_incomplete_slide_is_reported_at_once_without_patience() -> None:
    arrival = Arrival(version="1", since=0, due=3)
    assert put_off(arrival, "its end is missing", 3, Patience(settle=3, give_up=0)) is None


@given(
    settle=st.floats(0, 100),
    give_up=st.floats(0, 1000),
    delays=st.lists(st.floats(0, 100), max_size=20),
)
def test_tries_are_bounded_and_the_last_comes_no_sooner_than_patience_ends(
    settle: float, give_up: float, delays: list[float]
) -> None:
    patience = Patience(settle=settle, give_up=give_up)
    arrival: Arrival | None = Arrival(version="1", since=0, due=settle)
    now, tries = 0.0, 0
    for delay in chain(delays, repeat(0.0, 30)):
        now = max(now, arrival.due) + delay
        tries += 1
        arrival = put_off(arrival, "x", now, patience)
        if arrival is None:
            break
        assert arrival.due >= now + 1 or arrival.due == pytest.approx(now + 1)
    assert arrival is None
    assert now >= give_up
    assert tries <= 12  # 1, 2, 4 … 1024 seconds


@dataclass(frozen=True)
class Step:
    seconds: float
    slide: str
    version: int | None  #: None: the slide is taken away


STEPS = st.lists(
    st.builds(Step, st.floats(0, 60), st.sampled_from("abc"), st.none() | st.integers(0, 3)), min_size=1, max_size=40
)


@given(steps=STEPS, finish=st.booleans())
def test_slide_is_opened_only_when_it_was_the_same_for_the_settle_time(steps: list[Step], finish: bool) -> None:
    """A model that remembers all looks agrees with the state that remembers one."""
    now = 0.0
    place: dict[str, Sighting] = {}
    known: dict[str, Arrival] = {}
    same_since: dict[str, tuple[str, float]] = {}
    finished: set[tuple[str, str]] = set()
    for step in steps:
        now += step.seconds
        if step.version is None:
            place.pop(step.slide, None)
        else:
            place[step.slide] = Sighting(version=str(step.version))
        found = look(known, place, now, PATIENCE, lambda key, version: (key, version) in finished)
        known = dict(found.arrivals)
        same_since = {
            key: same_since[key] if key in same_since and same_since[key][0] == one.version else (one.version, now)
            for key, one in place.items()
        }
        assert set(known) == set(place)
        assert not set(found.gone) & set(place)
        while (key := find_due(known, now)) is not None:
            version, since = same_since[key]
            assert version == known[key].version == place[key].version
            assert now - since >= PATIENCE.settle or now == pytest.approx(since + PATIENCE.settle)
            assert (key, version) not in finished
            known[key] = mark_ended(known[key])
            if finish:
                finished.add((key, version))
    settled = look(known, place, now + 30, PATIENCE, lambda key, version: (key, version) in finished).arrivals
    ready: set[str] = set()
    while (key := find_due(settled, now + 30)) is not None:
        ready.add(key)
        settled = {**settled, key: mark_ended(settled[key])}
    assert list_unfinished(settled) == ()
    assert ready == {key for key, arrival in known.items() if not arrival.ended}
