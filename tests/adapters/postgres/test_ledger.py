from __future__ import annotations

from tests.contracts.ledger import LedgerContract


class TestPostgresLedger(LedgerContract):
    """On the fixture `world` of this folder."""
