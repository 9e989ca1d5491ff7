"""Slides after a restore: their files are found in the bucket that took over, compared with SQL, and recorded there."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from wsi import keys
from wsi.concurrency import map_concurrently
from wsi.ledger_rules import needs_deidentification
from wsi.ports.objects import ObjectHeads, Objects, StoredObject
from wsi.ports.recovery import FileMove, RecoveryLedger, SlideMove
from wsi.records.slides import Slide
from wsi.recovery.examinations import move_examination
from wsi.recovery.verifying import Finding, ObjectProblem, find_object, find_problem, matches_digest, split_uri
from wsi.states import SlideState


@dataclass(frozen=True, kw_only=True, slots=True)
class SlidesPage:
    slides: int
    files: int  #: in the bucket of ours; files that were registered by reference are not touched
    etags_changed: int
    checked_by_digest: int  #: slides whose bytes are known to be those that were uploaded, by S3's own checksums
    uploads_lost: int
    findings: tuple[Finding, ...]
    next: UUID | None  #: what the next page begins after


@dataclass(frozen=True, slots=True)
class _Outcome:
    move: SlideMove | None
    etags_changed: int = 0
    checked_by_digest: bool = False
    findings: tuple[Finding, ...] = ()


def recover_slides(
    *,
    ledger: RecoveryLedger,
    slides: ObjectHeads,
    inspections: Objects,
    after: UUID | None,
    limit: int,
) -> SlidesPage:
    """Record a page of slides in their new places: uploaded files are in `slides` now, under the keys that they had.
    Files that are missing or differ are reported, and their slides stay as they are: a job on them fails with a
    message. Idempotent."""
    page = ledger.list_slides(after=after, limit=limit)
    outcomes = map_concurrently(lambda slide: _recover(slide, slides, inspections), page)
    moves = [one.move for one in outcomes if one.move is not None]
    ledger.move_slides(moves)
    return SlidesPage(
        slides=len(page),
        files=sum(len(move.files) for move in moves),
        etags_changed=sum(one.etags_changed for one in outcomes),
        checked_by_digest=sum(one.checked_by_digest for one in outcomes),
        uploads_lost=sum(move.is_upload for move in moves),
        findings=tuple(finding for one in outcomes for finding in one.findings),
        next=page[-1].id if len(page) == limit else None,
    )


def _recover(slide: Slide, slides: ObjectHeads, inspections: Objects) -> _Outcome:
    if not _is_uploaded(slide):
        return _Outcome(None)  # registered by reference: its files are the customer's, wherever they are
    placed = [slides.make_uri(split_uri(file.uri)[1]) for file in slide.files]
    if slide.state is SlideState.UPLOADING:
        return _Outcome(SlideMove(slide_id=slide.id, files=_list_moves(slide, placed, slides), is_upload=True))
    if slide.state is SlideState.REJECTED and needs_deidentification(slide):
        # Its files were deleted when it was refused, or are about to be.
        return _Outcome(SlideMove(slide_id=slide.id, files=_list_moves(slide, placed, slides)))
    stored = [find_object(slides, uri) for uri in placed]
    copies = _check_copies(slide, slides)
    problems: list[ObjectProblem | None] = [None] * len(stored)
    matches = None
    if not copies or not all(copies):  # else the originals may be deleted by now
        problems = [find_problem(one, size=file.size) for one, file in zip(stored, slide.files, strict=True)]
        matches = _compare(slide, [one for one in stored if one is not None]) if not any(problems) else None
    if matches is False:
        problems = [ObjectProblem.DIFFERS] * len(problems)
    etags = [
        one.etag if one is not None and problem is None and file.etag is not None else file.etag
        for one, problem, file in zip(stored, problems, slide.files, strict=True)
    ]
    findings = [
        Finding("slide", str(slide.id), str(n), problem) for n, problem in enumerate(problems) if problem is not None
    ]
    findings += move_examination(inspections, slide, etags)
    return _Outcome(
        SlideMove(slide_id=slide.id, files=_list_moves(slide, placed, slides, etags), forgets_copies=not all(copies)),
        sum(etag != file.etag for etag, file in zip(etags, slide.files, strict=True)),
        matches is True,
        tuple(findings),
    )


def _is_uploaded(slide: Slide) -> bool:
    """Return whether the slide's files are ours: their keys are then those that we build of its ids."""
    folder = keys.make_slide_folder(slide.tenant, slide.id)
    return all(split_uri(file.uri)[1].startswith(folder) for file in slide.files)


def _list_moves(
    slide: Slide, placed: list[str], slides: ObjectHeads, etags: list[str | None] | None = None
) -> list[FileMove]:
    return [
        FileMove(
            position=n,
            uri=placed[n],
            etag=file.etag if etags is None else etags[n],
            clean_uri=slides.make_uri(split_uri(file.clean.uri)[1]) if file.clean is not None else None,
        )
        for n, file in enumerate(slide.files)
    ]


def _compare(slide: Slide, stored: list[StoredObject]) -> bool | None:
    """Return whether the slide's bytes are those that were uploaded; None if nothing can tell."""
    if slide.digest is None or slide.digest.startswith("ref-"):
        return None
    return matches_digest(stored, slide.digest)


def _check_copies(slide: Slide, slides: ObjectHeads) -> list[bool]:
    """Return whether each clean copy of a slide that is being de-identified is complete. The multipart upload of one
    that is not was lost with the region."""
    return [
        find_problem(find_object(slides, slides.make_uri(split_uri(file.clean.uri)[1])), size=file.size) is None
        for file in slide.files
        if file.clean is not None
    ]
