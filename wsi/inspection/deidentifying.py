"""De-identification of an uploaded slide, before anything else reads it: its files are rewritten without identifying
data, and the original ones are deleted with all of their versions.

S3 writes no bytes into an object, so each file becomes another one, part by part. S3 itself copies the parts that are
somewhere in the original as they are; the others are read, changed and sent. What must be removed is decided once and
stored in SQL, so that a crash costs only the parts in flight:

    decide ▶ begin_deidentification ▶ parts ▶ put together ▶ delete the originals ▶ finish_deidentification

After the first commit the slide has no names any more; after the last one its files are the clean ones. Needs numpy.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePosixPath

from wsi import keys
from wsi.concurrency import map_concurrently
from wsi.digests import compute_slide_digest
from wsi.errors import ObjectLocked, SourceMissing, SourceUnavailable
from wsi.inspection.stored_examination import open_slide_source
from wsi.ledger_rules import make_anonymous_name, needs_deidentification
from wsi.ports.ledger import SystemLedger
from wsi.ports.objects import SlideStore, StoredObject
from wsi.records.slides import Choice, CleanCopy, Slide, SlideFile
from wsi.slide.deidentification.clean_slide import CleanFile, CleanSlide
from wsi.slide.deidentification.cleaning import clean
from wsi.slide.deidentification.edits import CleanSource
from wsi.slide.deidentification.overwrites import split_into_parts
from wsi.slide.ranges import ByteRange
from wsi.uploads.uploads import drop_uploads

_SALT = 16  #: bytes of a salt that is used once


def deidentify(slide: Slide, *, ledger: SystemLedger, slides: SlideStore) -> Slide | None:
    """Return the UPLOADED slide with clean files, or the slide itself if it needs no de-identification, or None if it
    was deleted meanwhile. Can crash at any point and be run twice, also at the same time.

    Raises SlideRejected, with the files as they came still in place (`forget_files` deletes them); SourceMissing,
    SourceChanged; SourceUnavailable, for another try.
    """
    if not needs_deidentification(slide):
        return slide
    try:
        return _deidentify(slide, ledger, slides)
    except SourceMissing:
        now = ledger.find_uninspected_slide(slide.id)
        if now is None or not needs_deidentification(now):
            return now
        if now.removed is not None and all(_whole(slides, file) for file in _staying(now)):
            raise SourceUnavailable("The slide is being de-identified by somebody else; try again.") from None
        raise


def forget_files(slide: Slide, *, slides: SlideStore) -> None:
    """Delete all versions of the files of a refused slide, and of their copies. Idempotent. What S3 Object Lock keeps
    is hidden from then on, and the bucket's life cycle deletes it after its lock."""
    with suppress(ObjectLocked):
        drop_uploads(slide, slides)
    with suppress(ObjectLocked):
        map_concurrently(slides.delete, [file.uri for file in slide.files])


def _deidentify(slide: Slide, ledger: SystemLedger, slides: SlideStore) -> Slide | None:
    decided: CleanSlide | None = None
    if slide.removed is None:
        decided = _decide(slide, slides, os.urandom(_SALT))
        begun = _begin(slide, decided, ledger, slides)
        if begun is None:
            return None
        slide = begun
    whole = [_whole(slides, file) for file in _staying(slide)]
    if not all(whole):
        if decided is None or decided.salted:
            decided = _decide(slide, slides, _derive_salt(slide))
        whole = _copy(slide, decided, slides)
    # Only now, and before SQL says that it is done: a death between leaves a slide that is not READY.
    map_concurrently(slides.delete, [file.uri for file in slide.files])
    stored = [one for one in whole if one is not None]
    copies = {copy.uri: (one.etag, one.size) for copy, one in zip(_copies(slide), stored, strict=True)}
    digest = compute_slide_digest([one.sha256 or "" for one in stored])
    ledger.finish_deidentification(slide.id, digest=digest, copies=copies, choice=_choice_left(slide))
    return ledger.find_uninspected_slide(slide.id)


def _decide(slide: Slide, slides: SlideStore, salt: bytes) -> CleanSlide:
    """Decide what to remove, the same each time with the same salt, so that the parts of two attempts fit together."""
    return clean(open_slide_source(slide, slides), choice=slide.choice, salt=salt)


def _derive_salt(slide: Slide) -> bytes:
    """Return the secret that decides the new UIDs of a slide, the same for each attempt. S3 draws upload ids, nobody
    outside of the installation sees these, and SQL forgets them in the end: from then on nobody can tell which UID
    became which, not even with the original and the clean slide's id at hand."""
    return hashlib.sha256("\n".join(copy.upload_id for copy in _copies(slide)).encode()).digest()


def _begin(slide: Slide, decided: CleanSlide, ledger: SystemLedger, slides: SlideStore) -> Slide | None:
    files = sorted(decided.files, key=lambda file: file.number)  # as SQL lists them
    uris = [slides.make_uri(keys.of_clean_file(slide.tenant, slide.id, file.number)) for file in files]
    # A death before the next commit leaves uploads that no row knows: the bucket's lifecycle aborts them (F-44).
    upload_ids = map_concurrently(slides.begin_upload, uris)
    mine = [CleanCopy(uri=uri, upload_id=upload_id) for uri, upload_id in zip(uris, upload_ids, strict=True)]
    copies = {file.number: (file.name, copy) for file, copy in zip(files, mine, strict=True)}
    name = make_anonymous_name(slide.id, _suffix(decided.files[0].name))
    begun = ledger.begin_deidentification(slide.id, name, copies, decided.removed)
    if begun is None or _copies(begun) != mine:
        map_concurrently(lambda copy: slides.abort_upload(copy.uri, copy.upload_id), mine)
    return begun


def _suffix(name: str) -> str:
    return "".join(PurePosixPath(name).suffixes)


def _staying(slide: Slide) -> list[SlideFile]:
    return [file for file in slide.files if file.clean is not None]


def _copies(slide: Slide) -> list[CleanCopy]:
    return [file.clean for file in slide.files if file.clean is not None]


def _choice_left(slide: Slide) -> Choice | None:
    """Return the choice that remains to be made in the clean files: a TIFF then holds the chosen image alone, a DICOM
    series keeps all of its optical paths and focal planes."""
    return slide.choice if PurePosixPath(_staying(slide)[0].name).suffix == ".dcm" else None


def _whole(slides: SlideStore, file: SlideFile) -> StoredObject | None:
    """Return the clean copy, or None until it is complete: before, S3 knows no such object."""
    assert file.clean is not None, "a file that stays has a clean copy"
    try:
        return slides.head(file.clean.uri)
    except SourceMissing:
        return None


@dataclass(frozen=True, slots=True)
class _PartToCopy:
    file: SlideFile
    copy: CleanCopy
    source: CleanSource
    n: int  #: from 1
    place: ByteRange


def _copy(slide: Slide, decided: CleanSlide, slides: SlideStore) -> Sequence[StoredObject]:
    files = {place: file for place, file in enumerate(slide.files) if file.clean is not None}
    by_number = {file.number: file for file in decided.files}
    missing = [part for place, file in files.items() for part in _missing(slides, file, by_number[place])]
    # Some hundred requests for a slide of gigabytes, of which a handful carry bytes: 16 at once, 16 MiB each.
    map_concurrently(lambda part: _send(slides, part), missing)
    sized = [(file, by_number[place].source.size) for place, file in files.items()]
    return map_concurrently(lambda pair: _put_together(slides, *pair), sized)


def _missing(slides: SlideStore, file: SlideFile, decided: CleanFile) -> list[_PartToCopy]:
    """Return the parts that an earlier attempt did not upload."""
    copy = file.clean
    assert copy is not None, "a file that stays has a clean copy"
    if _whole(slides, file) is not None:
        return []
    there = {part.n: part for part in slides.list_parts(copy.uri, copy.upload_id)}
    places = list(enumerate(split_into_parts(decided.source.size), start=1))
    # The first part always changes. One of another content is of another release, whose parts do not fit to these.
    first = hashlib.sha256(decided.source.read(places[0][1])).hexdigest() if 1 in there else None
    if first is None or there[1].sha256 != first:
        there.clear()
    return [_PartToCopy(file, copy, decided.source, n, place) for n, place in places if n not in there]


def _send(slides: SlideStore, part: _PartToCopy) -> None:
    copy = part.copy
    origin = part.source.find_unchanged(part.place)
    if origin is None:
        slides.write_part(copy.uri, copy.upload_id, n=part.n, data=part.source.read(part.place))
        return
    etag = part.file.etag
    assert etag is not None, "an uploaded file has an ETag"
    whole = origin == ByteRange(0, part.file.size)
    slides.copy_part(
        copy.uri, copy.upload_id, n=part.n, source=part.file.uri, etag=etag, byte_range=None if whole else origin
    )


def _put_together(slides: SlideStore, file: SlideFile, size: int) -> StoredObject:
    copy = file.clean
    assert copy is not None, "a file that stays has a clean copy"
    whole = _whole(slides, file)
    if whole is None:
        parts = sum(1 for _ in split_into_parts(size))  # an attempt of another release may have left more
        there = [part for part in slides.list_parts(copy.uri, copy.upload_id) if part.n <= parts]
        if sum(part.size for part in there) != size:
            raise SourceUnavailable("The clean copy of the slide is not whole; try again in a minute.")
        whole = slides.complete_upload(copy.uri, copy.upload_id, there)
    return whole
