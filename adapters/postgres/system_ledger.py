"""Operations of lambdas behind queues, workers, relay and sweep, as role tessera_system."""

from __future__ import annotations

from adapters.postgres.access.sources import PostgresSystemSources
from adapters.postgres.archiving import PostgresSystemArchive
from adapters.postgres.audit import PostgresAuditUpkeep
from adapters.postgres.dead_letters.settling import PostgresDeadLetters
from adapters.postgres.deidentifying import PostgresDeidentification
from adapters.postgres.deliveries import PostgresDeliveries
from adapters.postgres.erasure.deleting import PostgresErasures
from adapters.postgres.erasure.retention import PostgresRetention
from adapters.postgres.inspecting import PostgresInspection
from adapters.postgres.jobs import PostgresSystemJobs
from adapters.postgres.measurements.vitals import PostgresVitals
from adapters.postgres.models import PostgresSystemModels
from adapters.postgres.outbox import PostgresOutbox
from adapters.postgres.registrations import PostgresTrials
from adapters.postgres.shards import PostgresShards
from adapters.postgres.spending.budgets import PostgresBudgetNotices
from adapters.postgres.sweeping import PostgresSweep


class PostgresSystemLedger(
    PostgresInspection,
    PostgresSystemSources,
    PostgresDeidentification,
    PostgresSystemArchive,
    PostgresErasures,
    PostgresRetention,
    PostgresSystemJobs,
    PostgresShards,
    PostgresOutbox,
    PostgresDeliveries,
    PostgresBudgetNotices,
    PostgresSweep,
    PostgresDeadLetters,
    PostgresVitals,
    PostgresSystemModels,
    PostgresTrials,
    PostgresAuditUpkeep,
):
    """`wsi.ports.ledger.SystemLedger` on Postgres."""
