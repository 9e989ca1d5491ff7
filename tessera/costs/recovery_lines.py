"""The lines of a bill that a second region adds: replicas of all objects, and the database's backups."""

from __future__ import annotations

from collections.abc import Iterator

from tessera.costs import configuration as installed
from tessera.costs.bill_line import BillLine
from tessera.costs.configuration import Configuration
from tessera.costs.load import DAYS_A_MONTH, Load

_LEAST_COLD_DAYS = 90  #: charged for an object in Instant Retrieval, though it was deleted sooner
#: Backups that are stored there, in sizes of the database: a snapshot and the changes of a month. An assumption.
_BACKUPS = 2
_BACKUP_GIB_A_DAY = 1  #: snapshots' changes and logs of transactions. An assumption
_OBJECTS_A_SLIDE = 1  #: a slide in one file


def list_idle_recovery_lines(configuration: Configuration) -> Iterator[BillLine]:
    """Yield what is due without any slide."""
    if configuration.recovery_region is None:
        return
    stored = _BACKUPS * installed.DATABASE_DISK_GB
    traffic = _BACKUP_GIB_A_DAY * DAYS_A_MONTH
    yield BillLine("Second region", "backups of the database", stored, "RDS backup storage")
    yield BillLine("Second region", "their way there", traffic, "traffic to a second region")
    yield BillLine("Second region", "keys", installed.RECOVERY_KEYS, "KMS key")
    yield BillLine("Second region", "alarms, by metric", installed.RECOVERY_ALARM_METRICS, "CloudWatch alarm")
    yield BillLine("Second region", "metrics of replication", installed.RECOVERY_METRICS, "CloudWatch metric")


def list_replicas(configuration: Configuration, load: Load) -> Iterator[BillLine]:
    """Yield what slides and their results cost there."""
    if configuration.recovery_region is None:
        return
    a_month, kept = load.slides_a_month, load.slides_a_day * load.kept_days
    charged = load.slides_a_day * max(load.kept_days, _LEAST_COLD_DAYS) * load.gib_a_slide
    results = a_month * load.result_gib_a_slide
    puts, cold_puts = a_month * load.puts_a_slide, a_month * _OBJECTS_A_SLIDE
    traffic = a_month * load.gib_a_slide + results
    yield BillLine("Second region", "originals, Instant Retrieval", charged, "S3 Glacier Instant Retrieval")
    yield BillLine("Second region", "results, Standard", kept * load.result_gib_a_slide, "S3 Standard")
    yield BillLine("Second region", "slides and results on their way", traffic, "traffic to a second region")
    yield BillLine("Second region", "results within 15 minutes", results, "S3 replication in 15 minutes")
    yield BillLine("Second region", "PUT of results", puts / 1e3, "S3 PUT")
    yield BillLine("Second region", "PUT of originals", cold_puts / 1e3, "S3 Glacier Instant Retrieval PUT")
