"""What a store does wrong now and then: range reads try again, in bounded number, and say what stays wrong."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import struct
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.aws_clients import AwsClients
from adapters.s3.ranges import Allowance, RangeReads, S3RangeSource
from adapters.settings.reads import ReadLimits
from tests.ministack import REGION
from tests.slides import write_svs
from tests.wsi.slide.sources import read_level, remote
from wsi.errors import SourceChanged, SourceError, SourceMissing, SourceTruncated, SourceUnavailable
from wsi.ports.objects import StoredObject
from wsi.slide.opening import open_local_source, open_slide
from wsi.slide.ranges import ByteRange

DATA = bytes(range(256)) * 4096
ETAG = "0123456789abcdef0123456789abcdef"


#: What a store or the way to it may do to one request, and what else than the right bytes may come of it.
PASSING = (500, 503, "short", "reset", "reset-midway", "slow", "other-range", "longer", "no-range", "one-short")
LASTING = {
    "replaced": SourceChanged,  # answers with the new object although If-Match names the old one
    "whole": SourceUnavailable,  # 200 with all of the object, as servers without ranges answer
    412: SourceChanged,
    404: SourceMissing,
    403: SourceMissing,
}


class Store:
    """Answers each GET with the next of `faults`, then rightly."""

    def __init__(self, data=DATA):
        self.faults = []
        self.size = len(data)
        other = bytes(reversed(data))
        self.requests = []
        self.running = 0
        self.most_running = 0
        self._lock = threading.Lock()
        store = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                with store._lock:
                    store.requests.append(dict(self.headers))
                    fault = store.faults.pop(0) if store.faults else None
                    store.running += 1
                    store.most_running = max(store.most_running, store.running)
                try:
                    self.answer(fault)
                finally:
                    with store._lock:
                        store.running -= 1

            def answer(self, fault):
                if isinstance(fault, int):
                    self.send(fault, b"")
                    return
                first, last = map(int, re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"]).groups())
                time.sleep({"slow": 0.02, "hangs": 0.6}.get(fault, 0))
                if fault == "other-range":
                    first, last = first + 7, last + 7
                part = data[first : last + 1]
                match fault:
                    case "reset":
                        self.reset()
                    case "reset-midway":
                        self.send(206, part[: len(part) // 3], first=first, last=last, length=len(part))
                        self.reset()
                    case "short":
                        self.send(206, part[: len(part) // 2], first=first, last=last, length=len(part))
                        self.close_connection = True
                    case "one-short":
                        self.send(206, part[:-1], first=first, last=last)
                    case "longer":
                        self.send(206, part + b"xx", first=first, last=last)
                    case "no-range":
                        self.send(206, part)
                    case "whole":
                        self.send(200, data)
                    case "replaced":
                        self.send(206, other[first : last + 1], first=first, last=last, etag="f" * 32)
                    case _:
                        self.send(206, part, first=first, last=last)

            def send(self, status, data, *, first=None, last=None, etag=ETAG, length=None):
                self.send_response(status)
                self.send_header("Content-Length", str(len(data) if length is None else length))
                if first is not None:
                    self.send_header("Content-Range", f"bytes {first}-{last}/{store.size}")
                self.send_header("ETag", f'"{etag}"')
                self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
                self.end_headers()
                self.wfile.write(data)

            def reset(self):
                """Closes with RST, as a load balancer that lost its patience."""
                self.close_connection = True
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.shutdown(socket.SHUT_RDWR)

            def log_message(self, *arguments):
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, request, client_address):
                pass  # a client that gave up

        self.server = Server(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


LIMITS = ReadLimits(read_pause_seconds=0.001, read_request_seconds=0.3)
WANTED = ByteRange(1000, 9000)


def opened(store, limits=LIMITS):
    reads = RangeReads(AwsClients(REGION, store.url), limits)
    return S3RangeSource(reads, "bucket", "key", StoredObject(size=store.size, etag=ETAG))


@pytest.fixture(scope="module")
def lasting(module_credentials):
    """A store and a source of it that all examples share."""
    made = Store()
    yield made, opened(made)
    made.close()


@pytest.fixture(scope="module")
def module_credentials():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        yield


@pytest.fixture
def store(credentials):
    made = Store()
    yield made
    made.close()


@pytest.fixture
def source(store):
    return opened(store)


RANGES = st.tuples(st.integers(0, len(DATA) - 1), st.integers(0, 40_000)).map(
    lambda pair: ByteRange(pair[0], min(pair[0] + pair[1], len(DATA)))
)


@settings(
    max_examples=int(os.environ.get("TESSERA_FAULT_CASES", "250")),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(RANGES, min_size=1, max_size=8),
    st.lists(st.sampled_from([None, None, *PASSING, *LASTING]), max_size=12),
)
def test_whatever_fails_on_the_way_gives_the_right_bytes_or_a_typed_error(lasting, ranges, faults):
    store, source = lasting
    store.faults = list(faults)
    with contextlib.suppress(SourceError):
        assert list(source.read_many(ranges)) == [DATA[part.start : part.end] for part in ranges]
    store.faults = []
    assert source._reads.allowance._left == LIMITS.read_bytes_in_flight


@pytest.fixture(scope="module")
def slide(module_credentials, tmp_path_factory):
    """A store that holds a slide, a source of it, its index, and the pixels of its tiles."""
    path = write_svs(tmp_path_factory.mktemp("slide") / "a.svs", width=1000, height=700, levels=(1, 4))
    reader = open_slide(open_local_source(path))
    made = Store(path.read_bytes())
    yield made, opened(made), [read_level(reader, level) for level in (0, 1)]
    made.close()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from([None, None, *PASSING]), max_size=16),
    st.lists(st.sampled_from(["replaced", 412]), max_size=1),
)
def test_whatever_fails_on_the_way_no_pixel_is_wrong(slide, passing, lasting):
    store, source, pixels = slide
    store.faults = passing + lasting
    with contextlib.suppress(SourceError):
        reader = open_slide(remote(source))
        for level, expected in enumerate(pixels):
            assert (read_level(reader, level) == expected).all()
    store.faults = []


@pytest.mark.parametrize("fault", [*PASSING, "hangs", "whole"])
def test_what_passes_is_tried_again(store, source, fault):
    store.faults = [fault, fault]
    assert source.read(WANTED) == DATA[1000:9000]
    assert len(store.requests) == (1 if fault == "slow" else 3)


@pytest.mark.parametrize("fault", [503, "short", "reset", "other-range", "whole"])
def test_what_stays_is_told_after_a_bounded_number_of_tries(store, source, fault):
    store.faults = [fault] * 20
    with pytest.raises(SourceUnavailable):
        source.read(WANTED)
    assert len(store.requests) == LIMITS.read_attempts


@pytest.mark.parametrize("fault", [412, 404, 403, "replaced"])
def test_what_can_not_pass_is_told_at_once(store, source, fault):
    store.faults = [fault]
    with pytest.raises(LASTING[fault]):
        source.read(WANTED)
    assert len(store.requests) == 1


def test_each_request_is_pinned_to_the_version_and_signed(store, source):
    source.read(WANTED)
    (headers,) = store.requests
    by_name = {name.lower(): value for name, value in headers.items()}
    assert by_name["if-match"] == f'"{ETAG}"'
    assert by_name["authorization"].startswith("AWS4-HMAC-SHA256 Credential=test/")


def test_many_ranges_fly_together_but_never_more_than_the_bound_of_a_slide(store, source):
    store.faults = ["slow"] * 64
    ranges = [ByteRange(n * 100, n * 100 + 50) for n in range(64)]
    assert list(source.read_many(ranges)) == [DATA[r.start : r.end] for r in ranges]
    assert 4 <= store.most_running <= LIMITS.read_slide_connections


def test_all_slides_of_a_process_share_its_connections(store):
    reads = RangeReads(AwsClients(REGION, store.url), ReadLimits(read_connections=6))
    stored = StoredObject(size=len(DATA), etag=ETAG)
    sources = [S3RangeSource(reads, "bucket", f"key-{n}", stored) for n in range(4)]
    store.faults = ["slow"] * 64
    ranges = [ByteRange(n * 100, n * 100 + 50) for n in range(16)]
    streams = [source.read_many(ranges) for source in sources]
    for answers in zip(*streams, strict=True):
        assert len(set(map(bytes, answers))) == 1
    assert 4 <= store.most_running <= 6


def test_a_reader_that_pauses_holds_nobody_up(store):
    """Bytes in flight are shared, and one who got none of them still has one range at a time."""
    reads = RangeReads(AwsClients(REGION, store.url), ReadLimits(read_bytes_in_flight=5000))
    stored = StoredObject(size=len(DATA), etag=ETAG)
    first, second = (S3RangeSource(reads, "bucket", key, stored) for key in ("a", "b"))
    ranges = [ByteRange(n * 2000, n * 2000 + 2000) for n in range(8)]
    paused = first.read_many(ranges)
    next(paused)
    assert len(store.requests) <= 3
    assert list(second.read_many(ranges)) == [DATA[r.start : r.end] for r in ranges]
    del paused
    assert reads.allowance._left == 5000


def test_an_allowance_is_never_exceeded():
    allowance = Allowance(10)
    assert [allowance.take(6), allowance.take(6), allowance.take(4), allowance.take(1)] == [True, False, True, False]
    allowance.give(6)
    assert allowance.take(6)


def test_nothing_is_asked_beyond_the_end(store, source):
    with pytest.raises(SourceTruncated):
        source.read(ByteRange(len(DATA) - 5, len(DATA) + 5))
    assert store.requests == []
