from __future__ import annotations

import ssl
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.postgres.connections import Connections, locate_public_authorities
from adapters.postgres.owner.migrate import migrate
from local.postgres import EmbeddedPostgres
from tests.adapters.postgres.tls_front import self_signed, tls_front
from tests.postgres import Database
from wsi.errors import LedgerUnavailable

PROXY = "tessera.proxy.example"


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "example")


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    """On a server that asks for no password, in place of a proxy that knows whether a token is good."""
    with tempfile.TemporaryDirectory(prefix="tessera-postgres-") as folder:  # where `nobody` may enter
        server = EmbeddedPostgres(Path(folder), durable=False, demands_passwords=False)
        server.start()
        try:
            migrate(server.create_database("proxied"))
            yield Database("proxied", server)
        finally:
            server.stop()


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    return self_signed(tmp_path, PROXY)


@pytest.fixture
def port(certificate: Path, database: Database) -> Iterator[int]:
    with tls_front(certificate, database.server.port) as port:
        yield port


def ask(database: Database, port: int, host: str, authorities: Path | None) -> object:
    dsn = f"host={host} hostaddr=127.0.0.1 port={port} dbname={database.name} user=tessera_api"
    connections = Connections(dsn, iam=True, region="eu-central-1", authorities=authorities)
    try:
        with connections.begin_transaction() as cursor:
            row = cursor.execute("SELECT current_user AS who").fetchone()
            assert row
            return row["who"]
    finally:
        connections.close()


def test_a_process_signs_in_where_an_authority_vouches_for_the_proxy(
    database: Database, port: int, certificate: Path
) -> None:
    assert ask(database, port, PROXY, certificate) == "tessera_api"


def test_no_token_goes_to_a_server_that_nobody_vouches_for(database: Database, port: int) -> None:
    with pytest.raises(LedgerUnavailable) as refused:
        ask(database, port, PROXY, None)
    assert "certificate verify failed" in str(refused.value.__cause__)


def test_no_token_goes_to_a_server_of_another_name(database: Database, port: int, certificate: Path) -> None:
    with pytest.raises(LedgerUnavailable) as refused:
        ask(database, port, "other.proxy.example", certificate)
    assert "does not match host name" in str(refused.value.__cause__)


def test_no_token_goes_out_in_the_clear(database: Database, certificate: Path) -> None:
    with pytest.raises(LedgerUnavailable) as refused:
        ask(database, database.server.port, PROXY, certificate)
    assert "does not support SSL" in str(refused.value.__cause__)


def test_amazon_whose_certificates_proxies_have_is_among_the_public_authorities() -> None:
    context = ssl.create_default_context(cafile=str(locate_public_authorities()))
    names = {dict(part[0] for part in found["subject"]).get("commonName") for found in context.get_ca_certs()}
    assert {f"Amazon Root CA {n}" for n in range(1, 5)} <= names
