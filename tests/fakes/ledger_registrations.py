"""Model packages on their way in, in the memory ledger: the tenant's side and the system's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

from tests.fakes.ledger_books import Books
from wsi.errors import FailReason
from wsi.ledger_rules import make_unknown_model_error
from wsi.models.owners import check_name, make_not_own_model_error
from wsi.models.registration_rules import (
    QUEUE,
    SILENT,
    SILENT_TRIES,
    UNFINISHED,
    UNTRIED,
    make_trial_message,
    make_unknown_registration_error,
    mark_default,
    stays,
)
from wsi.records.identity import Actor, Role
from wsi.records.models import ModelVersion
from wsi.records.registrations import ModelMeasurements, NewRegistration, Registration
from wsi.states import REGISTRATION_MOVES, RegistrationState, select_sources
from wsi.tracing import make_traceparent


class MemoryRegistrations:
    books: Books

    # --- the tenant's

    def get_registration(self, actor: Actor, name: str, version: str) -> Registration:
        with self.books.lock:
            found = self.books.registrations.get((actor.tenant, name, version))
            if found is None:
                raise make_unknown_registration_error()
            return found

    def open_registration(self, actor: Actor, wanted: NewRegistration) -> tuple[Registration, Registration | None]:
        with self.books.lock:
            key = (actor.tenant, wanted.name, wanted.version)
            known = self.books.registrations.get(key)
            if known is None:
                seen = [model for model in self.books.list_visible_models(actor) if model.name == wanted.name]
                check_name([(model.version, model.owner) for model in seen], wanted.name, wanted.version)
            if known is not None and stays(known, wanted):
                return known, None
            now = self.books.now()
            opened = Registration(
                id=wanted.id,
                tenant=actor.tenant,
                name=wanted.name,
                version=wanted.version,
                files=wanted.files,
                becomes_default=wanted.becomes_default,
                created_by=actor.subject,
                created_at=now,
                updated_at=now,
            )
            self.books.registrations[key] = opened
            self.books.tries[opened.id] = 0
            self.books.note(actor, "model.add", f"{wanted.name}@{wanted.version}")
            return opened, known

    def complete_registration(self, actor: Actor, registration_id: UUID) -> Registration | None:
        with self.books.lock:
            known = self._registration(registration_id)
            if known is None or known.tenant != actor.tenant:
                return None
            moved = self._move(registration_id, RegistrationState.CHECKING)
            if moved is None:
                return known
            self.books.note(actor, "model.complete", f"{moved.name}@{moved.version}")
            self._ask_for_trial(moved)
            return moved

    def choose_default(self, actor: Actor, name: str, version: str) -> ModelVersion:
        with self.books.lock:
            visible = self.books.list_visible_models(actor)
            seen = [model for model in visible if (model.name, model.version) == (name, version)]
            if not seen:
                raise make_unknown_model_error()
            chosen = next((model for model in seen if model.owner is not None), None)
            if chosen is None:
                raise make_not_own_model_error(name)
            self._make_default(chosen)
            self.books.note(actor, "model.default", f"{name}@{version}")
            return replace(chosen, is_default=True)

    # --- the system's

    def find_registration_to_try(self, registration_id: UUID) -> Registration | None:
        with self.books.lock:
            known = self._registration(registration_id)
            return known if known is not None and known.state is RegistrationState.CHECKING else None

    def begin_trial(self, registration_id: UUID) -> bool:
        with self.books.lock:
            known = self.find_registration_to_try(registration_id)
            if known is None:
                return False
            self.books.tries[known.id] += 1
            if self.books.tries[known.id] > SILENT_TRIES:
                self.reject_model(known.id, *SILENT)
                return False
            return True

    def accept_model(self, registration_id: UUID, model: ModelVersion, measured: ModelMeasurements) -> bool:
        with self.books.lock:
            moved = self._move(registration_id, RegistrationState.READY, measured=measured)
            if moved is None:
                return False
            self.add_model(replace(model, owner=moved.tenant), asked=moved.becomes_default)
            self._note(moved, "model.accept")
            return True

    def reject_model(self, registration_id: UUID, reason: FailReason, sentence: str) -> bool:
        with self.books.lock:
            known = self._registration(registration_id)
            if known is None or known.state is not RegistrationState.CHECKING:
                return False
            return self._reject(registration_id, reason, sentence)

    def add_model(self, model: ModelVersion, *, asked: bool) -> None:
        others = any((other.owner, other.name) == (model.owner, model.name) for other in self.books.models)
        added = mark_default(model, asked=asked, others=others)
        self.books.models.append(added)
        if added.is_default:
            self._make_default(added)

    # --- the sweep's

    def resend_trials(self, seconds: float) -> int:
        """The message of packages that wait for a worker for so long."""

        before = self.books.ago(seconds)
        checking = self._those(lambda known: known.state is RegistrationState.CHECKING)
        stuck = [known for known in checking if self.books.woken_at[known.id, None] < before]
        for known in stuck:
            self._ask_for_trial(known)
        return len(stuck)

    def give_up_trials(self, seconds: float) -> int:
        return self._reject_unmoved(RegistrationState.CHECKING, seconds, *UNTRIED)

    def abandon_packages(self, days: float) -> int:
        return self._reject_unmoved(RegistrationState.UPLOADING, days * 86_400, *UNFINISHED)

    def _reject_unmoved(self, state: RegistrationState, seconds: float, reason: FailReason, sentence: str) -> int:
        before = self.books.ago(seconds)
        old = self._those(lambda known: known.state is state and known.updated_at < before)
        return sum(self._reject(known.id, reason, sentence) for known in old)

    def _those(self, wanted: Callable[[Registration], bool]) -> list[Registration]:
        return [known for known in self.books.registrations.values() if wanted(known)]

    def _registration(self, registration_id: UUID) -> Registration | None:
        return next((known for known in self.books.registrations.values() if known.id == registration_id), None)

    def _reject(self, registration_id: UUID, reason: FailReason, sentence: str) -> bool:
        why = {"reason": reason.value, "sentence": sentence}
        moved = self._move(registration_id, RegistrationState.REJECTED, **why)
        if moved is not None:
            self._note(moved, "model.reject")
        return moved is not None

    def _note(self, of: Registration, action: str) -> None:
        self.books.note(Actor(tenant=of.tenant, subject="system", role=Role.VIEWER), action, f"{of.name}@{of.version}")

    def _move(self, registration_id: UUID, to: RegistrationState, **changes: Any) -> Registration | None:
        known = self._registration(registration_id)
        if known is None or known.state not in select_sources(REGISTRATION_MOVES, to):
            return None
        moved = replace(known, state=to, updated_at=self.books.now(), **changes)
        self.books.registrations[known.tenant, known.name, known.version] = moved
        return moved

    def _make_default(self, chosen: ModelVersion) -> None:
        for number, other in enumerate(self.books.models):
            if (other.owner, other.name) == (chosen.owner, chosen.name):
                self.books.models[number] = replace(other, is_default=other.version == chosen.version)

    def _ask_for_trial(self, registration: Registration) -> None:
        self.books.woken_at[registration.id, None] = self.books.now()
        self.books.send(registration.tenant, QUEUE, make_trial_message(registration), make_traceparent())
