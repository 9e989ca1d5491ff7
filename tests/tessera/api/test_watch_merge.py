"""Any order, repetition or loss of updates, and then a snapshot, ends at the truth."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tessera.api.watch import merge
from tests.updates import any_update
from wsi.records.notices import JobUpdate


def update(version: int, seq: int) -> JobUpdate:
    return any_update(version=version, progress_seq=seq)


HISTORY = [update(version, seq) for version in range(1, 5) for seq in range(4)]  #: in the order in which it happened


@given(st.lists(st.sampled_from(HISTORY)))
def test_whatever_arrives_a_final_snapshot_converges(arrived: list[JobUpdate]) -> None:
    known: JobUpdate | None = None
    for each in [*arrived, HISTORY[-1]]:
        known = merge(known, each)
    assert known == HISTORY[-1]


@given(st.lists(st.sampled_from(HISTORY), min_size=1))
def test_what_is_shown_never_goes_back(arrived: list[JobUpdate]) -> None:
    known: JobUpdate | None = None
    shown: list[int] = []
    for each in arrived:
        known = merge(known, each)
        shown.append(HISTORY.index(known))
    assert shown == sorted(shown)


@given(
    st.lists(st.sampled_from(HISTORY), min_size=1).flatmap(lambda seen: st.tuples(st.just(seen), st.permutations(seen)))
)
def test_the_order_of_arrival_does_not_matter(arrivals: tuple[list[JobUpdate], list[JobUpdate]]) -> None:
    def last(arrived: list[JobUpdate]) -> JobUpdate | None:
        known: JobUpdate | None = None
        for each in arrived:
            known = merge(known, each)
        return known

    assert last(arrivals[0]) == last(arrivals[1])
