"""Operations of the API, as role tessera_api: each transaction enters its tenant first."""

from __future__ import annotations

from adapters.postgres.access.sources import PostgresTenantSources
from adapters.postgres.archiving import PostgresTenantArchive
from adapters.postgres.audit import PostgresAudit
from adapters.postgres.deliveries import PostgresTenantNotices
from adapters.postgres.erasure.deleting import PostgresTenantErasure
from adapters.postgres.jobs import PostgresTenantJobs
from adapters.postgres.measurements.queue_state import PostgresQueueState
from adapters.postgres.models import PostgresTenantModels
from adapters.postgres.registrations import PostgresTenantRegistrations
from adapters.postgres.slides import PostgresTenantSlides
from adapters.postgres.spending.usage import PostgresTenantSpending


class PostgresTenantLedger(
    PostgresTenantSlides,
    PostgresTenantSources,
    PostgresTenantArchive,
    PostgresTenantErasure,
    PostgresTenantJobs,
    PostgresQueueState,
    PostgresTenantNotices,
    PostgresTenantModels,
    PostgresTenantRegistrations,
    PostgresTenantSpending,
    PostgresAudit,
):
    """`wsi.ports.ledger.TenantLedger` on Postgres."""
