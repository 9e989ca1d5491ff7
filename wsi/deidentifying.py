"""De-identification of an uploaded slide, before anything else looks at it: its files are written again without what
identifies somebody, and those that came are deleted with all of their versions.

S3 writes no bytes into an object, so that each file becomes another one of the same size, part by part: parts that
nothing is written over are copied by S3 itself, the others are read, written over and sent. What is to come out is
decided once and kept in SQL, so that a death costs the parts that were under way:

    decide ▶ begin_deidentification ▶ parts ▶ put together ▶ delete what came ▶ finish_deidentification

From the first commit on the slide has no names any more; at the last one its files are the clean ones. Needs numpy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from wsi import keys, side_by_side
from wsi.digests import slide_digest
from wsi.errors import SourceMissing, SourceUnavailable
from wsi.ledger_rules import is_identified, nameless
from wsi.ports.ledger import SystemLedger
from wsi.ports.objects import SlideStore, StoredObject
from wsi.records.slides import Choice, CleanCopy, Slide, SlideFile
from wsi.slide.deidentification.cleaning import CleanFile, CleanSlide, clean
from wsi.slide.deidentification.overwrites import OverwrittenSource, parts
from wsi.slide.ranges import ByteRange
from wsi.slide.source import SlideSource
from wsi.upload_rules import part_count
from wsi.uploads import drop_uploads


def deidentify(slide: Slide, *, ledger: SystemLedger, slides: SlideStore) -> Slide | None:
    """The UPLOADED slide with clean files; the slide itself if it was not to be de-identified, or is already. None:
    somebody deleted it meanwhile. Can die at any point and be run twice, also at the same time.

    Raises SlideRejected, with the files as they came still in place (`forget_files` deletes them); SourceMissing,
    SourceChanged; SourceUnavailable, for another try.
    """
    if not is_identified(slide):
        return slide
    try:
        return _deidentified(slide, ledger, slides)
    except SourceMissing:
        now = ledger.uninspected_slide(slide.id)
        if now is None or not is_identified(now):
            return now
        if now.removed is not None and all(_whole(slides, file) for file in _staying(now)):
            raise SourceUnavailable("The slide is being de-identified by somebody else; try again.") from None
        raise


def forget_files(slide: Slide, *, slides: SlideStore) -> None:
    """Deletes all versions of the files of a slide that was refused, and of their copies. Idempotent."""
    drop_uploads(slide, slides)
    side_by_side.each(slides.delete, [file.uri for file in slide.files])


def _deidentified(slide: Slide, ledger: SystemLedger, slides: SlideStore) -> Slide | None:
    decided: CleanSlide | None = None
    if slide.removed is None:
        decided = _decide(slide, slides)
        begun = _begin(slide, decided, ledger, slides)
        if begun is None:
            return None
        slide = begun
    whole = [_whole(slides, file) for file in _staying(slide)]
    if not all(whole):
        whole = _copy(slide, decided or _decide(slide, slides), slides)
    # Only now, and before SQL says that it is done: a death between leaves a slide that is not READY.
    side_by_side.each(slides.delete, [file.uri for file in slide.files])
    stored = [one for one in whole if one is not None]
    etags = {copy.uri: one.etag for copy, one in zip(_copies(slide), stored, strict=True)}
    digest = slide_digest([one.sha256 or "" for one in stored])
    ledger.finish_deidentification(slide.id, digest=digest, etags=etags, choice=_choice_left(slide))
    return ledger.uninspected_slide(slide.id)


def _decide(slide: Slide, slides: SlideStore) -> CleanSlide:
    """The same each time, so that the parts of two tries fit together. By the slide's id, UIDs of two uploads of the
    same series differ; who knows the id and a UID can say which one it became, and no other."""
    files = tuple((file.name, slides.open(file.uri, etag=file.etag)) for file in slide.files)
    return clean(SlideSource(files=files), choice=slide.choice, salt=slide.id.bytes)


def _begin(slide: Slide, decided: CleanSlide, ledger: SystemLedger, slides: SlideStore) -> Slide | None:
    uris = [slides.uri(keys.clean_file(slide.tenant, slide.id, file.number)) for file in decided.files]
    # A death before the next commit leaves uploads that no row knows: the bucket's lifecycle aborts them (F-44).
    upload_ids = side_by_side.each(slides.begin_upload, uris)
    mine = [CleanCopy(uri=uri, upload_id=upload_id) for uri, upload_id in zip(uris, upload_ids, strict=True)]
    copies = {file.number: (file.name, copy) for file, copy in zip(decided.files, mine, strict=True)}
    name = nameless(slide.id, _suffix(decided.files[0].name))
    begun = ledger.begin_deidentification(slide.id, name, copies, decided.removed)
    if begun is None or _copies(begun) != mine:
        side_by_side.each(lambda copy: slides.abort_upload(copy.uri, copy.upload_id), mine)
    return begun


def _suffix(name: str) -> str:
    return "".join(PurePosixPath(name).suffixes)


def _staying(slide: Slide) -> list[SlideFile]:
    return [file for file in slide.files if file.clean is not None]


def _copies(slide: Slide) -> list[CleanCopy]:
    return [file.clean for file in slide.files if file.clean is not None]


def _choice_left(slide: Slide) -> Choice | None:
    """Return what is still to be chosen in the clean files: a TIFF holds the chosen image alone then, a DICOM series
    keeps all of its optical paths and focal planes."""
    return slide.choice if PurePosixPath(_staying(slide)[0].name).suffix == ".dcm" else None


def _whole(slides: SlideStore, file: SlideFile) -> StoredObject | None:
    """The clean copy once it is put together."""
    assert file.clean is not None, "a file that stays has a clean copy"
    try:
        stored = slides.head(file.clean.uri)
    except SourceMissing:
        return None
    return stored if stored.size == file.size else None


@dataclass(frozen=True, slots=True)
class _Part:
    file: SlideFile
    copy: CleanCopy
    source: OverwrittenSource
    n: int  #: from 1
    place: ByteRange


def _copy(slide: Slide, decided: CleanSlide, slides: SlideStore) -> Sequence[StoredObject]:
    files = {place: file for place, file in enumerate(slide.files) if file.clean is not None}
    by_number = {file.number: file for file in decided.files}
    missing = [part for place, file in files.items() for part in _missing(slides, file, by_number[place])]
    # Some hundred requests for a slide of gigabytes, of which a handful carry bytes: 16 at once, 16 MiB each.
    side_by_side.each(lambda part: _send(slides, part), missing)
    return side_by_side.each(lambda file: _put_together(slides, file), list(files.values()))


def _missing(slides: SlideStore, file: SlideFile, decided: CleanFile) -> list[_Part]:
    """Those that a former try did not send."""
    copy = file.clean
    assert copy is not None, "a file that stays has a clean copy"
    if _whole(slides, file) is not None:
        return []
    there = {part.n for part in slides.parts(copy.uri, copy.upload_id)}
    places = enumerate(parts(file.size), start=1)
    return [_Part(file, copy, decided.source, n, place) for n, place in places if n not in there]


def _send(slides: SlideStore, part: _Part) -> None:
    copy = part.copy
    if part.source.touches(part.place):
        slides.write_part(copy.uri, copy.upload_id, n=part.n, data=part.source.read(part.place))
        return
    etag = part.file.etag
    assert etag is not None, "an uploaded file has an ETag"
    alone = part_count(part.file.size) == 1
    slides.copy_part(
        copy.uri, copy.upload_id, n=part.n, source=part.file.uri, etag=etag, byte_range=None if alone else part.place
    )


def _put_together(slides: SlideStore, file: SlideFile) -> StoredObject:
    copy = file.clean
    assert copy is not None, "a file that stays has a clean copy"
    whole = _whole(slides, file)
    if whole is None:
        there = slides.parts(copy.uri, copy.upload_id)
        if sum(part.size for part in there) != file.size:
            raise SourceUnavailable("The clean copy of the slide is not whole; try again in a minute.")
        whole = slides.complete_upload(copy.uri, copy.upload_id, there)
    return whole
