"""What a store does wrong now and then: range reads try again, in bounded number, and say what stays wrong."""

from __future__ import annotations

import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from adapters.aws_clients import AwsClients
from adapters.s3.ranges import ATTEMPTS, CONNECTIONS, RangeReads, S3RangeSource
from tests.ministack import REGION
from wsi.errors import SourceChanged, SourceMissing, SourceTruncated, SourceUnavailable
from wsi.ports.objects import StoredObject
from wsi.slide.ranges import ByteRange

DATA = bytes(range(256)) * 4096
ETAG = "0123456789abcdef0123456789abcdef"


class Store:
    """Answers each GET with the next of `faults` (a status, or "short", "dropped" or "slow"), then rightly."""

    def __init__(self):
        self.faults = []
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
                    self.send_response(fault)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                first, last = map(int, re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"]).groups())
                data = DATA[first : last + 1]
                if fault == "slow":
                    time.sleep(0.05)
                self.send_response(206)
                self.send_header("Content-Length", str(len(data)))
                self.send_header("Content-Range", f"bytes {first}-{last}/{len(DATA)}")
                self.send_header("ETag", f'"{ETAG}"')
                self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
                self.end_headers()
                self.wfile.write(data[: len(data) // 2] if fault == "short" else data)
                if fault == "short":
                    self.close_connection = True

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def store(credentials):
    made = Store()
    yield made
    made.close()


@pytest.fixture
def source(store):
    reads = RangeReads(AwsClients(REGION, store.url))
    return S3RangeSource(reads, "bucket", "key", StoredObject(size=len(DATA), etag=ETAG))


WANTED = ByteRange(1000, 9000)


@pytest.mark.parametrize("fault", [500, 503, "short"])
def test_what_passes_is_tried_again(store, source, fault):
    store.faults = [fault, fault]
    assert source.read(WANTED) == DATA[1000:9000]
    assert len(store.requests) == 3


@pytest.mark.parametrize(
    ("fault", "error"), [(503, SourceUnavailable), ("short", (SourceTruncated, SourceUnavailable))]
)
def test_what_stays_is_told_after_a_bounded_number_of_tries(store, source, fault, error):
    store.faults = [fault] * 20
    with pytest.raises(error):
        source.read(WANTED)
    assert len(store.requests) == ATTEMPTS


@pytest.mark.parametrize(("status", "error"), [(412, SourceChanged), (404, SourceMissing), (403, SourceMissing)])
def test_what_can_not_pass_is_told_at_once(store, source, status, error):
    store.faults = [status]
    with pytest.raises(error):
        source.read(WANTED)
    assert len(store.requests) == 1


def test_each_request_is_pinned_to_the_version_and_signed(store, source):
    source.read(WANTED)
    (headers,) = store.requests
    by_name = {name.lower(): value for name, value in headers.items()}
    assert by_name["if-match"] == f'"{ETAG}"'
    assert by_name["authorization"].startswith("AWS4-HMAC-SHA256 Credential=test/")


def test_many_ranges_fly_together_but_never_more_than_the_bound(store, source):
    store.faults = ["slow"] * 64
    ranges = [ByteRange(n * 100, n * 100 + 50) for n in range(64)]
    assert list(source.read_many(ranges)) == [DATA[r.start : r.end] for r in ranges]
    assert 4 <= store.most_running <= CONNECTIONS


def test_nothing_is_asked_beyond_the_end(store, source):
    with pytest.raises(SourceTruncated):
        source.read(ByteRange(len(DATA) - 5, len(DATA) + 5))
    assert store.requests == []
