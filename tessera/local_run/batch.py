"""Many slides, one after the other. One bad slide never stops the rest; each ends in exactly one outcome."""

from __future__ import annotations

import tempfile
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from tessera.local_run.inputs import LeftOut, SlideInput
from tessera.local_run.outcomes import Outcome, SlideOutcome, check_sum
from wsi.errors import FULL_DISK, JobFailed, SlideRejected, SourceMissing, TesseraError

ERROR_LOG = "error.log"
FolderOf = Callable[[SlideInput], Path | None]  #: where a slide's files go, if anywhere


def choose_folders(slides: Sequence[SlideInput], out: Path) -> Callable[[SlideInput], Path]:
    """Return a function from a slide to the folder of its files: `out` itself for one slide, `out`/<name> for
    several."""
    return lambda slide: out if len(slides) == 1 else out / slide.name


def run_batch(
    slides: Sequence[SlideInput],
    run: Callable[[SlideInput], SlideOutcome],
    *,
    folder_of: FolderOf,
    on_outcome: Callable[[SlideOutcome], None],
    left_out: Sequence[LeftOut] = (),
) -> tuple[SlideOutcome, ...]:
    """Return an outcome a slide, in the order of `slides`, and then one for each of what was left out. Raises only what
    is no slide's fault: an interruption."""
    outcomes: list[SlideOutcome] = []
    for slide in slides:
        outcome = run_guarded(slide, run, folder_of(slide))
        outcomes.append(outcome)
        on_outcome(outcome)
    check_sum([slide.name for slide in slides], outcomes)
    return (*outcomes, *map(_make_left_out, left_out))


def run_guarded(slide: SlideInput, run: Callable[[SlideInput], SlideOutcome], folder: Path | None) -> SlideOutcome:
    try:
        outcome = run(slide)
    except SlideRejected as error:
        return _make_outcome(slide, Outcome.REJECTED, error.reason.value, error.sentence)
    except SourceMissing as error:
        return _make_outcome(slide, Outcome.REJECTED, error.code, error.sentence)
    except JobFailed as error:
        return _make_outcome(slide, Outcome.FAILED, error.reason.value, error.sentence)
    except TesseraError as error:
        return _make_outcome(slide, Outcome.FAILED, error.code, error.sentence)
    except OSError as error:
        if error.errno not in FULL_DISK:
            return _make_outcome(slide, Outcome.FAILED, type(error).__name__, _write_error_log(folder, error))
        return _make_outcome(
            slide, Outcome.FAILED, "disk_full", "The disk is full: free some space and run the same command again."
        )
    except Exception as error:  # noqa: BLE001  the border of one slide: recorded as failed, and the rest goes on
        return _make_outcome(slide, Outcome.FAILED, type(error).__name__, _write_error_log(folder, error))
    if folder is not None:
        (folder / ERROR_LOG).unlink(missing_ok=True)  # of an earlier run that failed
    return outcome


def _write_error_log(folder: Path | None, error: Exception) -> str:
    """Write the traceback, among temporary files if the slide has no folder. Return the message that says where it
    is."""
    unwritten = f"An unexpected error ({type(error).__name__}); its traceback cannot be written"
    try:
        path = (folder or Path(tempfile.mkdtemp(prefix="tessera-"))) / ERROR_LOG
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(traceback.format_exception(error)), encoding="utf-8")
    except OSError as unwritable:  # a full disk fails the slide and its log alike
        return f"{unwritten} to {folder or tempfile.gettempdir()}: {unwritable.strerror}."
    return f"An unexpected error; its traceback is in {path}."


def _make_left_out(one: LeftOut) -> SlideOutcome:
    return SlideOutcome(name=one.location, outcome=Outcome.LEFT_OUT, reason=one.reason.value, sentence=one.sentence)


def _make_outcome(slide: SlideInput, outcome: Outcome, reason: str, sentence: str) -> SlideOutcome:
    return SlideOutcome(name=slide.name, outcome=outcome, reason=reason, sentence=sentence)
