"""Requests of one process side by side, as the embedded stack has them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest

from lambdas.wiring import ApiWiring
from tests.fakes.slides import MemorySlideStore
from tests.installation import ANALYST, STRANGER, Installation
from tests.lambdas.rest import Caller, whole_handler
from wsi.records.identity import Actor
from wsi.uploads.rules import MAX_FILES

PATIENCE = 20  #: s after which a test gives up: a request that waits for another waits for ever


class Held(MemorySlideStore):
    """A store whose first new upload waits until it is let go."""

    def __init__(self, installation: Installation) -> None:
        super().__init__(clock=installation.clock)
        self.begun, self.let_go = threading.Event(), threading.Event()

    def begin_upload(self, uri: str) -> str:
        self.begun.set()
        assert self.let_go.wait(PATIENCE)
        return super().begin_upload(uri)


class Meeting:
    """A ledger in which as many requests as it is told meet before any of them is answered."""

    def __init__(self, ledger: Any, requests: int) -> None:
        self._ledger = ledger
        self._barrier = threading.Barrier(requests, timeout=PATIENCE)

    def get_slide(self, actor: Actor, slide_id: UUID) -> Any:
        self._barrier.wait()
        return self._ledger.get_slide(actor, slide_id)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)


@pytest.fixture
def held(installation: Installation) -> Held:
    return Held(installation)


def test_a_slow_upload_keeps_nobody_waiting(wiring: ApiWiring, held: Held, installation: Installation) -> None:
    handler = whole_handler(replace(wiring, slides=held))
    files = [{"name": f"{number}.dcm", "size": 1} for number in range(100)]
    slide = installation.ready()
    with ThreadPoolExecutor(2) as threads:
        slow = threads.submit(Caller(handler, ANALYST), "POST", "/uploads", {"files": files})
        assert held.begun.wait(PATIENCE)
        try:
            asked = [threads.submit(Caller(handler, ANALYST), "GET", f"/slides/{slide}") for _ in range(5)]
            assert [answer.result(PATIENCE).status for answer in asked] == [200] * 5
            assert not slow.done()
        finally:
            held.let_go.set()
        assert slow.result(PATIENCE).status == 201


def test_each_of_many_requests_gets_its_own_answer(wiring: ApiWiring, installation: Installation) -> None:
    """Callers, addresses and routes of requests that are all under way at once are not mixed up."""
    slides = [installation.ready() for _ in range(6)]
    asked = [(ANALYST, slide) for slide in slides] + [(STRANGER, slides[0]), (ANALYST, uuid4())]
    handler = whole_handler(replace(wiring, ledger=Meeting(installation.ledger, len(asked))))
    with ThreadPoolExecutor(len(asked)) as threads:
        for _ in range(3):
            answers = list(
                threads.map(lambda one: Caller(handler, one[0])("GET", f"/slides/{one[1]}"), asked, timeout=PATIENCE)
            )
            assert [answer.status for answer in answers] == [200] * len(slides) + [404, 404]
            assert [answer.body["slide_id"] for answer in answers[: len(slides)]] == [str(slide) for slide in slides]


def test_the_first_requests_of_a_route_come_at_once(wiring: ApiWiring, installation: Installation) -> None:
    """A resolver puts the middlewares of a route together at its first request: were that done twice, each would run
    twice, and the second validation would see what the first one made of the body."""
    slide = installation.ready()
    for _ in range(10):
        handler = whole_handler(wiring)
        start = threading.Barrier(8, timeout=PATIENCE)

        def ask(number: int, handler: Any = handler, start: Any = start) -> int:
            start.wait()
            return Caller(handler, ANALYST)("PATCH", f"/slides/{slide}", {"name": f"{number}.svs"}).status

        with ThreadPoolExecutor(8) as threads:
            assert set(threads.map(ask, range(8), timeout=PATIENCE)) <= {200, 409}


def test_a_request_asks_for_a_bounded_number_of_files(wiring: ApiWiring, installation: Installation) -> None:
    class Counting(MemorySlideStore):
        begun = 0

        def begin_upload(self, uri: str) -> str:
            self.begun += 1
            return super().begin_upload(uri)

    slides = Counting(clock=installation.clock)
    analyst = Caller(whole_handler(replace(wiring, slides=slides)), ANALYST)
    files = [{"name": f"{number}.dcm", "size": 1} for number in range(MAX_FILES + 1)]
    refused = analyst("POST", "/uploads", {"files": files})
    assert (refused.status, slides.begun) == (422, 0)
    assert refused.body["detail"] == f"A slide has 1 to {MAX_FILES:,} files; this request names {MAX_FILES + 1:,}."
    assert MAX_FILES <= 2_000, "each file is a call to S3, and the gateway waits for 29 s"
