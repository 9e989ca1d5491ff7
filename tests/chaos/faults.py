"""The faults: what each does, by name. A new fault is a new row of `FAULTS`."""

from __future__ import annotations

import random
import re
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import psycopg

from local.options import DATABASE
from local.postgres import SUPERUSER
from tests.chaos.proxies.weather import CUT, HELD, REFUSED, SHORT, SLOW, SWALLOWED, Spell, Trap
from tests.chaos.world import CLOCK, DISKS, WORKERS, World

COPIED = re.compile(r"S3\.GET .*\.scn")  #: what only OpenSlide reads, from a copy
Do = Callable[[World, random.Random], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    does: str
    do: Do
    weight: int = 1  #: how often it comes, next to the others
    needs: str = ""  #: of `World.missing`: without it, the fault is left out where it was planned


def kill_any(number: signal.Signals) -> Do:
    def do(world: World, chance: random.Random) -> None:
        world.parts.by_name[chance.choice(sorted(world.parts.by_name))].signal(number)

    return do


def pause_worker(world: World, chance: random.Random) -> None:
    part = world.parts.by_name[chance.choice(WORKERS)]
    part.signal(signal.SIGSTOP)
    threading.Timer(chance.uniform(5, 9), lambda: part.signal(signal.SIGCONT)).start()


def pause_worker_at_result(world: World, chance: random.Random) -> None:
    """Stop a worker that has stored a shard and not committed it, until another one has its lease."""

    def spring(name: str) -> None:
        part = world.parts.by_name[name]
        part.signal(signal.SIGSTOP)
        threading.Timer(7.0, lambda: part.signal(signal.SIGCONT)).start()

    for name in WORKERS:
        world.weather.lay(
            Trap(
                sender=name,
                request=re.compile(r"S3\.PUT .*/result\.npz"),
                after=True,
                spring=spring,
                name="paused worker before its commit",
                passes=True,
            )
        )


def kill_at(sender: str, request: str, *, after: bool) -> Do:
    def do(world: World, chance: random.Random) -> None:
        name = chance.choice(WORKERS) if sender == "worker" else sender
        world.weather.lay(
            Trap(
                sender=name,
                request=re.compile(request),
                after=after,
                spring=lambda who: world.parts.by_name[who].signal(signal.SIGKILL),
                name=f"killed {sender} {'after' if after else 'before'} {request}",
            )
        )

    return do


def let_happen(what: str, request: str, *, share: float, lasts: float, seconds: float = 0.0) -> Do:
    def do(world: World, chance: random.Random) -> None:
        until = time.monotonic() + lasts * chance.uniform(0.5, 1.5)
        spell = Spell(what=what, request=re.compile(request), share=share, until=until, seconds=seconds)
        world.weather.begin(spell)

    return do


def lock_in_another_order(world: World, chance: random.Random) -> None:
    """Lock shards first and their job after, against the code's own order, so that Postgres ends one of both."""

    def hold() -> None:
        try:
            with psycopg.connect(world.stack.postgres.make_dsn(SUPERUSER, DATABASE), connect_timeout=5) as connection:
                found = connection.execute(
                    "SELECT job_id FROM shards WHERE state IN ('QUEUED', 'RUNNING') LIMIT 3 FOR UPDATE SKIP LOCKED"
                ).fetchall()
                time.sleep(0.5)
                for (job,) in found:
                    connection.execute("SELECT 1 FROM jobs WHERE id = %s FOR UPDATE", (job,))
                time.sleep(0.3)
                connection.rollback()
        except psycopg.OperationalError:
            pass  # ours was the one that was ended, or the server is away
        world.weather.happened["locked in another order"] += 1

    threading.Thread(target=hold, daemon=True).start()


def end_sessions(world: World, chance: random.Random) -> None:
    world.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename LIKE 'tessera%%' AND random() < 0.5"
    )


def jump_ahead(world: World, chance: random.Random) -> None:
    """The server's clock jumps ahead and stays there. Without libfaketime all dates in tables jump back instead, which
    is nearly the same, but for transactions that are open."""
    seconds = chance.uniform(5, 120)
    if world.clock is None:
        age_tables(world, seconds)
    else:
        world.clock.jump(seconds)
        world.weather.happened["clock ahead"] += 1


def jump_back(world: World, chance: random.Random) -> None:
    """The server's clock jumps back, as when a wrong one is set right, and seconds later forward again."""
    assert world.clock is not None, "the fault needs it"
    world.clock.jump_back(chance.uniform(3, 60), lasts=chance.uniform(4, 9))
    world.weather.happened["clock back"] += 1


def age_tables(world: World, seconds: float) -> None:
    """Make all that the database dates older, which is what a clock that jumps ahead does to it."""
    try:
        columns = world.sql(
            "SELECT table_name, array_agg(column_name::text) AS names FROM information_schema.columns"
            " JOIN information_schema.tables USING (table_schema, table_name) WHERE table_schema = 'public'"
            " AND table_type = 'BASE TABLE' AND data_type = 'timestamp with time zone'"
            " AND table_name IN ('outbox', 'shards', 'jobs', 'slides', 'job_events', 'deliveries')"
            " GROUP BY table_name ORDER BY table_name = 'jobs' DESC"
        )
        with psycopg.connect(world.stack.postgres.make_dsn(SUPERUSER, DATABASE), connect_timeout=5) as connection:
            connection.execute("SET session_replication_role = replica")  # history refuses updates otherwise
            for row in columns:
                moved = ", ".join(f"{name} = {name} - make_interval(secs => {seconds})" for name in row["names"])
                connection.execute(f"UPDATE {row['table_name']} SET {moved}".encode())
    except psycopg.OperationalError:
        return  # a deadlock with what runs, or the server is away: no jump this time
    world.weather.happened["tables dated older"] += 1


def fill_scratch(*, in_a_copy: bool) -> Do:
    def do(world: World, chance: random.Random) -> None:
        names = WORKERS if in_a_copy else (chance.choice(WORKERS),)
        if in_a_copy:  # copies take long enough to be met
            until = time.monotonic() + 12
            world.weather.begin(Spell(what=SLOW, request=COPIED, share=1.0, until=until, seconds=0.6))
        for name in names:
            world.disks.fill(name, seconds=chance.uniform(4, 8), wait=10.0 if in_a_copy else 0.0)

    return do


FAULTS: Mapping[str, Fault] = {
    "kill": Fault(does="SIGKILL to any process, with all that it started", do=kill_any(signal.SIGKILL), weight=3),
    "terminate": Fault(does="SIGTERM to any process", do=kill_any(signal.SIGTERM), weight=2),
    "pause worker": Fault(does="SIGSTOP to a worker, past the end of its lease, then SIGCONT", do=pause_worker),
    "pause worker at result": Fault(
        does="SIGSTOP between a shard's object and its commit, past the end of its lease", do=pause_worker_at_result
    ),
    "kill worker at checkpoint": Fault(
        does="SIGKILL when S3 has a shard's object and SQL does not know it",
        do=kill_at("worker", r"S3\.PUT .*/shards/", after=True),
        weight=2,
    ),
    "kill worker at commit": Fault(
        does="SIGKILL when SQL has committed and the worker does not know it",
        do=kill_at("worker", r"SQL\.COMMIT", after=True),
        weight=2,
    ),
    "kill worker at delete": Fault(
        does="SIGKILL between the commit and the deletion of the message",
        do=kill_at("worker", r"SQS\.DeleteMessage", after=False),
        weight=2,
    ),
    "kill relay before send": Fault(
        does="SIGKILL when rows are claimed and none is sent",
        do=kill_at("relay", r"SQS\.SendMessageBatch", after=False),
    ),
    "kill relay after send": Fault(
        does="SIGKILL when messages are sent and not marked as sent",
        do=kill_at("relay", r"SQS\.SendMessageBatch", after=True),
        weight=2,
    ),
    "kill relay at commit": Fault(
        does="SIGKILL before a commit of the relay", do=kill_at("relay", r"SQL\.COMMIT", after=False)
    ),
    "kill inspect or stitch at put": Fault(
        does="SIGKILL to the stages when S3 has one of their objects",
        do=kill_at("stages", r"S3\.PUT ", after=True),
        weight=2,
    ),
    "kill stages at commit": Fault(
        does="SIGKILL to the stages when SQL has committed", do=kill_at("stages", r"SQL\.COMMIT", after=True), weight=2
    ),
    "kill stages at delete": Fault(
        does="SIGKILL to the stages before the message is deleted",
        do=kill_at("stages", r"SQS\.DeleteMessage", after=False),
        weight=2,
    ),
    "kill api at commit": Fault(
        does="SIGKILL to the API when SQL has committed: the client asks again",
        do=kill_at("api", r"SQL\.COMMIT", after=True),
    ),
    "double messages": Fault(
        does="the last ten messages once more, in another order, up to 3 s later",
        do=lambda world, chance: world.messages.send_again(chance, newest=True) and None,
        weight=2,
    ),
    "stale messages": Fault(
        does="ten messages of any time once more",
        do=lambda world, chance: world.messages.send_again(chance, newest=False) and None,
        weight=2,
    ),
    "lose deletions": Fault(
        does="SQS says that it deleted, and did not",
        do=let_happen(SWALLOWED, r"SQS\.DeleteMessage", share=0.5, lasts=4),
    ),
    "delay messages": Fault(
        does="answers of SQS come seconds late",
        do=let_happen(HELD, r"SQS\.ReceiveMessage", share=0.5, lasts=5, seconds=2),
    ),
    "expire visibility": Fault(
        does="every message in hand becomes visible to others while it is worked on",
        do=lambda world, chance: world.messages.expire(older=0.0) and None,
        weight=2,
    ),
    "redrive": Fault(does="dead letters go back", do=lambda world, chance: world.messages.redrive() and None),
    "restart Postgres": Fault(
        does="a fast restart, on another port", do=lambda world, chance: world.restart_postgres(crash=False)
    ),
    "crash Postgres": Fault(
        does="an immediate stop, and recovery from the log", do=lambda world, chance: world.restart_postgres(crash=True)
    ),
    "end sessions": Fault(does="half of the sessions end", do=end_sessions),
    "deadlock": Fault(does="locks in the order opposite to the code's", do=lock_in_another_order, weight=2),
    "cut SQL": Fault(
        does="connections end, at commits before their answer", do=let_happen(CUT, r"SQL", share=0.05, lasts=4)
    ),
    "lose commits' answers": Fault(
        does="a commit stands, and its answer is lost", do=let_happen(CUT, r"SQL\.COMMIT", share=0.2, lasts=4)
    ),
    "slow commits": Fault(
        does="commits wait: rows come out of the order of their numbers",
        do=let_happen(SLOW, r"SQL\.COMMIT", share=0.3, lasts=6, seconds=0.5),
        weight=2,
    ),
    "hang SQL": Fault(does="statements wait for 3 s", do=let_happen(HELD, r"SQL$", share=0.02, lasts=5, seconds=3)),
    "refuse S3": Fault(
        does="503 SlowDown to half of S3's requests", do=let_happen(REFUSED, r"S3\.", share=0.5, lasts=4)
    ),
    "slow S3": Fault(does="S3 answers a second late", do=let_happen(SLOW, r"S3\.", share=0.4, lasts=5, seconds=1)),
    "short answers": Fault(does="half of a body, then the end", do=let_happen(SHORT, r"S3\.GET", share=0.4, lasts=4)),
    "short requests": Fault(does="half of a PUT arrives", do=let_happen(CUT, r"S3\.PUT", share=0.4, lasts=4)),
    "refuse SQS": Fault(does="503 to a third of SQS's requests", do=let_happen(REFUSED, r"SQS\.", share=0.3, lasts=3)),
    "clock ahead": Fault(does="the database's clock jumps ahead by up to 2 minutes", do=jump_ahead),
    "clock back": Fault(
        does="the database's clock jumps back by up to a minute, and forward again", do=jump_back, needs=CLOCK, weight=2
    ),
    "fill scratch": Fault(
        does="a worker's disk for copies of slides is full for seconds", do=fill_scratch(in_a_copy=False), needs=DISKS
    ),
    "fill scratch in a copy": Fault(
        does="workers' disks become full while a slide is copied to them", do=fill_scratch(in_a_copy=True), needs=DISKS
    ),
}
