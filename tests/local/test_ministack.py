"""The emulator as a child process: ours, on this machine alone, gone when stopped."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from adapters.aws_clients import AwsClients
from adapters.provisioning import create_buckets, create_queues, create_user_pool
from local.ministack import MiniStack
from local.processes import children
from tests.ministack import REGION
from tests.prerequisites import EMULATOR

pytestmark = [
    pytest.mark.stack,
    EMULATOR.mark,
]


@pytest.fixture
def server(tmp_path, credentials):
    made = MiniStack(tmp_path / "ministack", region=REGION, durable=True)
    made.start()
    yield made
    made.stop()


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux lists its sockets")
def test_it_listens_on_this_machine_alone(server):
    inodes = {str(link.readlink()) for link in Path(f"/proc/{server.pid}/fd").iterdir()}
    listening = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        rows = [line.split() for line in Path(table).read_text().splitlines()[1:]]
        listening += [row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in inodes]
    assert len(listening) == 1
    assert listening[0].startswith("0100007F:")


def test_it_is_gone_when_stopped(server):
    pid = server.pid
    server.stop()
    server.stop()
    assert not children.is_alive(pid)


def test_a_port_that_somebody_else_answers_on_is_not_taken_for_ours(server, tmp_path, monkeypatch):
    taken = int(server.url.rpartition(":")[2])
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = probe.getsockname()[1]
    ports = iter([taken, free])
    monkeypatch.setattr("local.ministack.choose_free_port", lambda: next(ports))
    second = MiniStack(tmp_path / "second", region=REGION, durable=False)
    second.start()
    try:
        assert second.url == f"http://127.0.0.1:{free}"
    finally:
        second.stop()


def test_objects_queues_and_users_outlive_a_restart_and_provisioning_again_changes_nothing(server):
    def provisioned():
        clients = AwsClients(REGION, server.url)
        create_buckets(clients, ["kept"])
        create_queues(clients, "kept-")
        return clients, create_user_pool(clients, "kept", {"a@kept.example": "Aa1!aaaaaaaa"})

    clients, pool = provisioned()
    clients.s3.put_object(Bucket="kept", Key="k", Body=b"x" * 3_000_000)
    server.stop()
    server.start()
    clients, again = provisioned()
    assert clients.s3.get_object(Bucket="kept", Key="k", Range="bytes=5-9")["Body"].read() == b"xxxxx"
    assert (again.issuer, again.client_id, again.subjects) == (pool.issuer, pool.client_id, pool.subjects)
