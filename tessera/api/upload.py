"""Multipart upload as a browser does it: digest a part, ask for its URL, PUT it; ask again for what is missing.

A part's URL signs its length and SHA-256, so S3 itself refuses a part that was changed on the way. What S3 already
holds is read from the API and never sent twice, so that an upload resumes where it broke off.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice

import httpx

from tessera.api.rest import Api, PartGrant
from tessera.api.transport import ATTEMPTS, compute_pause
from wsi.digests import PART_SIZE
from wsi.errors import Conflict, SourceUnavailable
from wsi.records.slides import Choice
from wsi.slide.ranges import ByteRange, RangeSource
from wsi.states import SlideState
from wsi.uploads.multipart import PartHeld
from wsi.uploads.rules import PartAsked, compute_part_size, count_parts

PARALLEL = 4  #: parts in flight; each holds one part (16 MiB) in memory
PUT_TIMEOUT = httpx.Timeout(300.0, connect=10.0)

Progress = Callable[[int], None]  #: bytes that have safely arrived since the last call


@dataclass(frozen=True, slots=True)
class _Chunk:
    file: int  #: position in the upload's files
    n: int  #: 1-based part number
    start: int
    size: int


def upload(
    api: Api,
    files: Sequence[tuple[str, RangeSource]],
    *,
    mpp: float | None = None,
    choice: Choice | None = None,
    deidentify: bool = False,
    resume: str | None = None,
    parallel: int = PARALLEL,
    on_begin: Callable[[str], None] = lambda slide_id: None,
    on_progress: Progress = lambda size: None,
    sleep: Callable[[float], None] = time.sleep,
) -> str:
    """Upload the files of one slide, (name, bytes) with the opened one first, and return the slide's id. `on_begin`
    gets the id first, so that the caller can `resume` with it later; an upload that is complete is not sent again.
    Raises what the API raises, and SourceUnavailable when S3 does not accept a part in several tries."""
    sizes = [(_as_text(name), file.size) for name, file in files]
    if resume:
        begun = api.get_slide(resume)
        if deidentify and not begun.deidentify:
            raise Conflict("The upload was begun without de-identification: start a new one instead of resuming it.")
        if begun.status not in (SlideState.UPLOADING, SlideState.DELETED):
            on_progress(sum(size for _, size in sizes))
            return resume
    slide_id = resume or api.begin_upload(sizes, mpp=mpp, choice=choice, deidentify=deidentify)
    on_begin(slide_id)
    stored = api.list_stored_parts(slide_id) if resume else ()
    send_parts(
        [file for _, file in files],
        stored,
        lambda part: api.grant_part(slide_id, part),
        parallel=parallel,
        on_progress=on_progress,
        sleep=sleep,
    )
    api.complete_upload(slide_id)
    return slide_id


def send_parts(
    files: Sequence[RangeSource],
    stored: Sequence[PartHeld],
    grant: Callable[[PartAsked], PartGrant],
    *,
    parallel: int = PARALLEL,
    on_progress: Progress = lambda size: None,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Send all parts of the files, each to the URL that `grant` gives, except for those that are `stored` with the very
    same bytes. Raises what `grant` raises, and SourceUnavailable when S3 does not accept a part in several tries."""
    held = {(part.file, part.n): part for part in stored}
    chunks = [chunk for number, file in enumerate(files) for chunk in _chunks(number, file.size)]
    with httpx.Client(timeout=PUT_TIMEOUT) as http, ThreadPoolExecutor(parallel) as pool:

        def send(chunk: _Chunk) -> int:
            part, data = _part(files[chunk.file], chunk)
            if not _holds(held.get((part.file, part.n)), part):
                _put(http, grant, part, data, sleep)
            return part.size

        for size in _run_bounded(pool, send, chunks, parallel):
            on_progress(size)


def _as_text(name: str) -> str:
    """Return the name with a replacement character for each byte that is no UTF-8, as names from old archives have
    them: no request can carry such bytes."""
    return os.fsencode(name).decode(errors="replace")


def _chunks(file: int, size: int) -> Iterator[_Chunk]:
    for n in range(1, count_parts(size) + 1):
        yield _Chunk(file, n, (n - 1) * PART_SIZE, compute_part_size(size, n))


def _part(file: RangeSource, chunk: _Chunk) -> tuple[PartAsked, bytes]:
    data = file.read(ByteRange(chunk.start, chunk.start + chunk.size))
    return PartAsked(file=chunk.file, n=chunk.n, size=len(data), sha256=hashlib.sha256(data).hexdigest()), data


def _holds(stored: PartHeld | None, part: PartAsked) -> bool:
    """Return whether S3 has these very bytes. S3 gives no digests of the parts of a file that is whole; the file's own
    is checked when the upload is completed."""
    return stored is not None and stored.size == part.size and stored.sha256 in (None, part.sha256)


def _put(
    http: httpx.Client,
    grant: Callable[[PartAsked], PartGrant],
    part: PartAsked,
    data: bytes,
    sleep: Callable[[float], None],
) -> None:
    refusal = ""
    for attempt in range(ATTEMPTS):
        granted = grant(part)  # a fresh URL each time: the last may have run out while we waited
        try:
            answer = http.put(granted.url, content=data, headers=dict(granted.headers))
            if answer.is_success:
                return
            refusal = f"status {answer.status_code}"
        except httpx.TransportError as error:
            refusal = type(error).__name__
        if attempt + 1 < ATTEMPTS:
            sleep(compute_pause(attempt))
    raise SourceUnavailable(f"Part {part.n} of file {part.file} could not be uploaded ({refusal}).")


def _run_bounded(
    pool: ThreadPoolExecutor, send: Callable[[_Chunk], int], chunks: Sequence[_Chunk], parallel: int
) -> Iterator[int]:
    """Yield results as they come; the first error stops what has not begun."""
    waiting = iter(chunks)
    running: set[Future[int]] = {pool.submit(send, chunk) for chunk in islice(waiting, parallel)}
    try:
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
            running |= {pool.submit(send, chunk) for chunk in islice(waiting, len(done))}
    finally:
        for future in running:
            future.cancel()
