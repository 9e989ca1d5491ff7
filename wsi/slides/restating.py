"""A scale, an image or a name, stated for a stored slide: it is inspected again without a new upload.

The move to UPLOADED, the new statement and the message to inspection are one transaction. What an earlier inspection
stored (thumbnail, index, tissue mask) is deleted after it. A later inspection stores its objects under keys of its own
(`wsi.keys.make_inspection_folder`), so nothing that a death leaves behind is ever read for the new statement.
"""

from __future__ import annotations

import re
from contextlib import suppress
from uuid import UUID

from wsi import keys
from wsi.access import require
from wsi.errors import Invalid, ObjectLocked
from wsi.notices.outbox import wake
from wsi.ports.ledger import TenantLedger
from wsi.ports.objects import Objects
from wsi.ports.queues import Queues
from wsi.records.identity import Actor, Role
from wsi.records.restatement import Restatement, Unstated
from wsi.records.slides import Slide
from wsi.spans import join_trace
from wsi.states import SlideState

LONGEST_NAME = 255  #: characters
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")  #: Unicode category Cc


def restate_slide(
    actor: Actor,
    slide_id: UUID,
    restatement: Restatement,
    *,
    ledger: TenantLedger,
    objects: Objects,
    queues: Queues,
    traceparent: str,
) -> Slide:
    """State a scale, an image or a name for the slide, and return it.

    READY or REJECTED -> UPLOADED where the scale or the choice of the image changes, and for a REJECTED slide also
    where the same is stated again, since another version of this code may read it. A name alone changes in any state.
    Otherwise nothing happens, so the call can be repeated. Raises Forbidden, NotFound, Invalid; Conflict while a job
    reads the slide, while it is uploaded, inspected or archived, and where its files are gone.
    """
    require(actor, Role.ANALYST)
    if restatement.is_empty:
        raise Invalid("State at least one of `mpp`, `optical_path`, `focal_plane`, `picture` and `name`.")
    if not isinstance(restatement.name, Unstated):
        _check_name(restatement.name)
    before = ledger.get_slide(actor, slide_id)
    slide = ledger.restate_slide(actor, slide_id, restatement)
    if slide.state is SlideState.UPLOADED and slide.version > before.version:
        wake(queues, traceparent=join_trace(traceparent, slide.traceparent, slide.created_at))
        _forget(before, objects)
    return slide


def _check_name(name: str) -> None:
    if not name.strip() or len(name) > LONGEST_NAME or _CONTROL.search(name):
        raise Invalid(f"A name has 1 to {LONGEST_NAME} characters and holds no line break or other control character.")


def _forget(before: Slide, objects: Objects) -> None:
    """Delete what the earlier inspection stored. Remains of a crash here, and what S3 keeps locked, are deleted with
    the slide."""
    if (folder := keys.find_inspection_folder(before.thumbnail_key)) is not None:
        for key in (keys.of_thumbnail(folder), keys.of_slide_index(folder), keys.of_tissue_mask(folder)):
            with suppress(ObjectLocked):
                objects.delete_below(key)
