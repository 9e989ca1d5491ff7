"""The whole ledger contract: what runs on the memory ledger and on Postgres alike."""

from __future__ import annotations

from tests.contracts.audit.ledger_audit import AuditLedgerContract
from tests.contracts.dead_letters.settling import DeadLettersContract
from tests.contracts.erasure.ledger import ErasureLedgerContract, RetentionContract
from tests.contracts.ledger_archive import ArchiveLedgerContract
from tests.contracts.ledger_deidentification import DeidentificationLedgerContract
from tests.contracts.ledger_jobs import JobMovesContract, SubmissionContract
from tests.contracts.ledger_lines import LinesContract
from tests.contracts.ledger_notices import NoticesContract
from tests.contracts.ledger_queue import QueueStateContract
from tests.contracts.ledger_quotas import QuotasContract
from tests.contracts.ledger_registrations import RegistrationLedgerContract
from tests.contracts.ledger_restatement import RestatementLedgerContract
from tests.contracts.ledger_shards import ShardLedgerContract
from tests.contracts.ledger_slides import SlideLedgerContract, TenancyContract
from tests.contracts.ledger_upkeep import UpkeepContract
from tests.contracts.ledger_vitals import VitalsContract
from tests.contracts.sources.ledger import SourcesLedgerContract
from tests.contracts.spending.equal_jobs import EqualJobsContract
from tests.contracts.spending.usage import UsageContract


class LedgerContract(
    SlideLedgerContract,
    TenancyContract,
    SourcesLedgerContract,
    DeidentificationLedgerContract,
    ArchiveLedgerContract,
    ErasureLedgerContract,
    RetentionContract,
    RestatementLedgerContract,
    RegistrationLedgerContract,
    SubmissionContract,
    JobMovesContract,
    ShardLedgerContract,
    LinesContract,
    QuotasContract,
    UpkeepContract,
    NoticesContract,
    VitalsContract,
    QueueStateContract,
    AuditLedgerContract,
    EqualJobsContract,
    UsageContract,
    DeadLettersContract,
):
    """Subclasses give the fixture `world`."""
