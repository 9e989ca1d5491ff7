"""Dead letters in the memory ledger."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from tests.fakes.ledger_books import BookedLetter, Books
from wsi.errors import FailReason, RejectReason
from wsi.ledger_rules import GIVEN_UP, QUEUES_OF_TOPIC, STUCK_TOPIC, UNINSPECTED_SENTENCE, needs_deidentification
from wsi.records.jobs import Job
from wsi.records.operations.dead_letters import (
    ArrivedLetter,
    LetterOutcome,
    LetterSubject,
    describe_undelivered,
    read_subject,
)
from wsi.states import JobState, ShardState, SlideState


class MemoryDeadLetters:
    books: Books

    def settle_letter(self, letter: ArrivedLetter) -> LetterOutcome:
        with self.books.lock:
            known = self.books.dead_letters.get(letter.message_id)
            if known is not None:
                return known.outcome
            outcome = self._settle(letter)
            booked = BookedLetter(letter=letter, outcome=outcome, arrived_at=self.books.now())
            self.books.dead_letters[letter.message_id] = booked
            return outcome

    def _settle(self, letter: ArrivedLetter) -> LetterOutcome:
        about = read_subject(letter.queue, letter.text)
        if about is None:
            return LetterOutcome.UNREADABLE
        if about.is_newer:
            return LetterOutcome.KEPT
        if about.slide_id is not None:
            return self._settle_slide(letter, about.slide_id)
        if letter.queue == "notify":
            return LetterOutcome.RESENT
        job = self.books.jobs.get(about.job_id) if about.job_id is not None else None
        return self._settle_job(letter, about, job) if job is not None else LetterOutcome.PAST

    def _settle_slide(self, letter: ArrivedLetter, slide_id: UUID) -> LetterOutcome:
        slide = self.books.slides.get(slide_id)
        if slide is None:
            return LetterOutcome.PAST
        if slide.state is SlideState.REJECTED and needs_deidentification(slide):
            return LetterOutcome.KEPT
        if slide.state is not SlideState.UPLOADED:
            return LetterOutcome.PAST
        if self._is_first(letter, self.books.slides_moved_at[slide_id]):
            self.books.send_to_inspection(slide)
            return LetterOutcome.RESENT
        self.books.move_slide(
            slide_id, SlideState.REJECTED, reason=RejectReason.DAMAGED.value, sentence=UNINSPECTED_SENTENCE
        )
        return LetterOutcome.ENDED

    def _settle_job(self, letter: ArrivedLetter, about: LetterSubject, job: Job) -> LetterOutcome:
        if about.shard is not None:
            outcome = self._settle_shard(letter, job, about.shard)
        elif letter.queue not in QUEUES_OF_TOPIC.get(STUCK_TOPIC.get(job.state, ""), ()):
            outcome = LetterOutcome.PAST
        elif self._is_first(letter, job.updated_at):
            self.books.wake_stage(job, STUCK_TOPIC[job.state])
            outcome = LetterOutcome.RESENT
        else:
            self.books.fail_job(job.id, *GIVEN_UP[job.state])
            outcome = LetterOutcome.ENDED
        if outcome is not LetterOutcome.PAST:
            detail = {"queue": letter.queue, "shard": about.shard, "outcome": outcome.value}
            self.books.append_event(job, "dead_letter", detail)
        return outcome

    def _settle_shard(self, letter: ArrivedLetter, job: Job, index: int) -> LetterOutcome:
        shards = self.books.shards.get(job.id, [])
        is_queued = 0 <= index < len(shards) and shards[index].state is ShardState.QUEUED
        if job.state is not JobState.RUNNING or not is_queued or (job.id, index) in self.books.line:
            return LetterOutcome.PAST
        report = self.books.reports.get((job.id, index))
        leased_at = report.leased_at if report is not None else None
        was_held = leased_at is not None and letter.sent_at is not None and leased_at >= letter.sent_at
        if was_held or self._is_first(letter, leased_at):
            self.books.wake_shards(job, [index])
            return LetterOutcome.RESENT
        self.books.fail_job(job.id, FailReason.UNDELIVERED, describe_undelivered(index))
        return LetterOutcome.ENDED

    def _is_first(self, letter: ArrivedLetter, since: datetime | None) -> bool:
        return not any(
            (other.letter.queue, other.letter.text) == (letter.queue, letter.text)
            and (since is None or other.arrived_at >= since)
            for other in self.books.dead_letters.values()
        )
